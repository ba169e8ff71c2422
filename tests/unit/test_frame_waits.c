/* SPDX-License-Identifier: MIT */
/* test_frame_waits.c - which descriptor a coroutine waits for, by the names in its frame. */
#include "inspect/waits.h"

#include "check.h"

#define FRAME_AT   UINT64_C(0x10000)
#define FRAME_SIZE 128

static uint8_t bytes[FRAME_SIZE];
static struct coro_field fields[8];
static struct coro_point point;
static struct coro_type type;
static struct coro_frame frame;

/* A gcc frame that is suspended at the first co_await, without variables. */
static void bed_open(void)
{
	static char awaits[] = "Wait", function[] = "f";

	memset(bytes, 0, sizeof(bytes));
	point = (struct coro_point){ .index = 4, .awaits = awaits };
	type = (struct coro_type){ .function = function,
				   .is_gcc = true,
				   .has_index = true,
				   .size = FRAME_SIZE,
				   .fields = fields,
				   .points = &point,
				   .nr_points = 1 };
	frame = (struct coro_frame){
		.addr = FRAME_AT, .size = FRAME_SIZE, .index = 4, .is_read = true
	};
}

static struct coro_field *add_number(const char *path, uint32_t offset, int32_t value)
{
	struct coro_field *f = &fields[type.nr_fields++];

	*f = (struct coro_field){ .path = (char *)path,
				  .offset = offset,
				  .size = 4,
				  .kind = CORO_FIELD_INTEGER,
				  .is_signed = true };
	memcpy(bytes + offset, &value, sizeof(value));
	return f;
}

static struct frame_wait read_wait(void)
{
	return frame_wait_read(&frame, &type, bytes, sizeof(bytes));
}

static void names_of_descriptors(void)
{
	static const struct {
		const char *path;
		bool is_descriptor;
	} names[] = {
		{ "fd", true },           { "FD", true },
		{ "m_fd", true },         { "fd_", true },
		{ "__fd__", true },       { "conn.socket", true },
		{ "sock", true },         { "sockfd", true },
		{ "x.descriptor", true }, { "native_handle", true },
		{ "read_fd", true },      { "readFd", true },
		{ "readFD", true },       { "readfd", false },
		{ "fds", false },         { "socket.count", false },
		{ "sockets", false },     { "so", false },
		{ "a.b.peer_FD", true },  { "fd.x", false },
	};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		bed_open();
		add_number(names[i].path, 32, 5);
		CHECK_EQ(read_wait().fd, names[i].is_descriptor ? 5 : -1);
	}
}

static void only_a_signed_int_outside_of_the_promise_counts(void)
{
	bed_open();
	add_number("fd", 32, 5);
	CHECK_EQ(read_wait().fd, 5);
	CHECK(!read_wait().is_in_awaiter);
	fields[0].is_signed = false;
	CHECK_EQ(read_wait().fd, -1);
	fields[0].is_signed = true;
	fields[0].size = 8;
	CHECK_EQ(read_wait().fd, -1);
	fields[0].size = 4;
	fields[0].in_promise = true;
	CHECK_EQ(read_wait().fd, -1);
	fields[0].in_promise = false;
	fields[0].kind = CORO_FIELD_OTHER;
	CHECK_EQ(read_wait().fd, -1);
	fields[0].kind = CORO_FIELD_INTEGER;
	fields[0].offset = FRAME_SIZE - 4;
	CHECK_EQ(read_wait().fd, 0);
	fields[0].offset = FRAME_SIZE - 3; /* its end is not in the frame */
	CHECK_EQ(read_wait().fd, -1);
}

static void two_different_descriptors_are_none(void)
{
	bed_open();
	add_number("fd", 32, 5);
	add_number("other_fd", 40, 5);
	CHECK_EQ(read_wait().fd, 5); /* the same one twice */
	add_number("third_fd", 48, -1);
	CHECK_EQ(read_wait().fd, 5); /* closed */
	add_number("fourth_fd", 56, 6);
	CHECK_EQ(read_wait().fd, -1);
}

static void the_current_awaiter_counts_before_variables(void)
{
	bed_open();
	add_number("fd", 32, 5);
	add_number("Aw0_1.fd", 40, 7);
	add_number("Aw1_2.fd", 48, 8);
	CHECK_EQ(read_wait().fd, 7);
	CHECK(read_wait().is_in_awaiter);
	point.index = frame.index = 6; /* the second co_await */
	CHECK_EQ(read_wait().fd, 8);
	point.index = frame.index = 7;
	CHECK_EQ(read_wait().fd, 8);
	type.is_gcc = false; /* no names of awaiters: three that differ */
	CHECK_EQ(read_wait().fd, -1);
	CHECK(!read_wait().is_in_awaiter);
}

static void an_awaiter_may_refer_to_a_variable(void)
{
	uint64_t to = FRAME_AT + 64;

	bed_open();
	fields[type.nr_fields++] = (struct coro_field){
		.path = "Aw0_1.socket", .offset = 16, .size = 8, .kind = CORO_FIELD_POINTER
	};
	add_number("first.fd", 32, 5);
	add_number("second.x", 64, 1);
	add_number("second.fd", 72, 9);
	memcpy(bytes + 16, &to, sizeof(to));
	CHECK_EQ(read_wait().fd, 9);
	CHECK(read_wait().is_in_awaiter);
	to = FRAME_AT + 30; /* the next variable behind it */
	memcpy(bytes + 16, &to, sizeof(to));
	CHECK_EQ(read_wait().fd, 5);
	to = FRAME_AT + FRAME_SIZE; /* outside: all variables, of which two differ */
	memcpy(bytes + 16, &to, sizeof(to));
	CHECK_EQ(read_wait().fd, -1);
	to = FRAME_AT - 1;
	memcpy(bytes + 16, &to, sizeof(to));
	CHECK_EQ(read_wait().fd, -1);
}

static void names_say_the_direction(void)
{
	static const struct {
		const char *awaits, *function;
		enum wait_direction direction;
	} cases[] = {
		{ "ReadAwaiter", "f", WAIT_READ },    { "Wait", "handle_read", WAIT_READ },
		{ "SendOp", "read", WAIT_WRITE },     { "Wait", "f", WAIT_EITHER },
		{ "ReadWrite", "accept", WAIT_READ }, { "ReadWrite", "f", WAIT_EITHER },
		{ "Recv", "f", WAIT_READ },           { "X", "do_flush", WAIT_WRITE },
		{ "X", "connect", WAIT_WRITE },       { "X", "Receiver", WAIT_READ },
		{ "X", "WRITE", WAIT_WRITE },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bed_open();
		add_number("fd", 32, 5);
		point.awaits = (char *)cases[i].awaits;
		type.function = (char *)cases[i].function;
		CHECK_EQ(read_wait().direction, cases[i].direction);
	}
}

int main(void)
{
	RUN(names_of_descriptors);
	RUN(only_a_signed_int_outside_of_the_promise_counts);
	RUN(two_different_descriptors_are_none);
	RUN(the_current_awaiter_counts_before_variables);
	RUN(an_awaiter_may_refer_to_a_variable);
	RUN(names_say_the_direction);
	return 0;
}

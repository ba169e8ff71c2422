/* SPDX-License-Identifier: MIT */
/*
 * test_verdicts.c - what is said of a coroutine that waits for a descriptor, by the state of the
 * descriptor; and what the SDK told of a coroutine, in words.
 */
#include "inspect/verdicts.h"

#include <errno.h>
#include <sys/epoll.h>

#include "check.h"
#include "inspect/traced_list.h"

#define NOT_WATCHED "it is ready, and no epoll set contains it"
#define DISARMED    "it is ready, and its one-shot registration is disarmed"
#define NO_IN       "it is readable, and is registered without EPOLLIN"
#define NO_OUT      "it is writable, and is registered without EPOLLOUT"
#define EDGE        "it is ready, and its edge was taken before"
#define TIMER       "its timer has expired, and nothing reads it"

/* ---- descriptors ---------------------------------------------------------------------- */

struct ready_case {
	uint8_t direction;
	bool in_awaiter;
	struct descriptor_state state;
	bool is_watched;
	struct descriptor_watch watch;
	enum inspect_verdict verdict;
	enum inspect_confidence confidence;
	const char *reason;
};

#define READ  .can_read = true
#define WRITE .can_write = true

static const struct ready_case ready_cases[] = {
	/* Ready for what it waits for, and in no epoll set. */
	{ WAIT_READ,
	  true,
	  { READ },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  NOT_WATCHED },
	{ WAIT_WRITE,
	  true,
	  { WRITE },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  NOT_WATCHED },
	{ WAIT_READ,
	  false,
	  { READ },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_SUSPECT,
	  NOT_WATCHED },
	/* Ready for something else. */
	{ WAIT_READ, true, { WRITE }, false, { 0 }, VERDICT_WAITING, INSPECT_NONE, NULL },
	{ WAIT_WRITE, true, { READ }, false, { 0 }, VERDICT_WAITING, INSPECT_NONE, NULL },
	/* It is not known for what it waits: only something to read counts. */
	{ WAIT_EITHER, true, { READ, WRITE }, false, { 0 }, VERDICT_WAITING, INSPECT_NONE, NULL },
	{ WAIT_EITHER,
	  true,
	  { READ, .unread = 1 },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_SUSPECT,
	  NOT_WATCHED },
	{ WAIT_EITHER,
	  true,
	  { READ, .is_listening = true },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_SUSPECT,
	  NOT_WATCHED },
	{ WAIT_EITHER,
	  true,
	  { READ, .has_hung_up = true },
	  false,
	  { 0 },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_SUSPECT,
	  NOT_WATCHED },
	{ WAIT_EITHER, true, { .unread = 1 }, false, { 0 }, VERDICT_WAITING, INSPECT_NONE, NULL },
	/* An epoll set contains it: an event comes, or none can come. */
	{ WAIT_READ,
	  true,
	  { READ },
	  true,
	  { .events = EPOLLIN },
	  VERDICT_WAITING,
	  INSPECT_NONE,
	  NULL },
	{ WAIT_READ,
	  true,
	  { READ },
	  true,
	  { .events = EPOLLIN, .is_disarmed = true },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  DISARMED },
	{ WAIT_READ,
	  true,
	  { READ },
	  true,
	  { .events = EPOLLOUT },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  NO_IN },
	{ WAIT_WRITE,
	  true,
	  { WRITE },
	  true,
	  { .events = EPOLLIN },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  NO_OUT },
	{ WAIT_WRITE,
	  true,
	  { WRITE },
	  true,
	  { .events = EPOLLOUT },
	  VERDICT_WAITING,
	  INSPECT_NONE,
	  NULL },
	{ WAIT_READ,
	  true,
	  { READ },
	  true,
	  { .events = EPOLLIN, .is_edge = true },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  EDGE },
	{ WAIT_WRITE,
	  true,
	  { WRITE },
	  true,
	  { .events = EPOLLOUT, .is_edge = true },
	  VERDICT_READY_NOT_TAKEN,
	  INSPECT_STRONG,
	  EDGE },
	/* A timer. */
	{ WAIT_READ,
	  true,
	  { READ, .kind = DESCRIPTOR_TIMERFD },
	  false,
	  { 0 },
	  VERDICT_DEADLINE_PASSED,
	  INSPECT_STRONG,
	  TIMER },
};

static void check_wait(const struct frame_wait *w, enum inspect_verdict verdict,
		       enum inspect_confidence confidence, const char *reason)
{
	CHECK_EQ(w->verdict, verdict);
	CHECK_EQ(w->confidence, confidence);
	CHECK_STR(w->reason ? w->reason : "", reason ? reason : "");
}

static void a_ready_descriptor_is_a_fault_if_no_event_can_come(void)
{
	static const struct judge_context plain = { 0 }, io_uring = { .has_io_uring = true };
	size_t i;

	for (i = 0; i < sizeof(ready_cases) / sizeof(ready_cases[0]); i++) {
		const struct ready_case *c = &ready_cases[i];
		struct kernel_descriptor d = { .state = c->state,
					       .is_watched = c->is_watched,
					       .watch = c->watch };
		struct frame_wait w = { .fd = 5,
					.direction = c->direction,
					.is_in_awaiter = c->in_awaiter,
					.verdict = VERDICT_CLOSED };

		wait_judge(&w, &d, &plain); /* its state was not asked for */
		check_wait(&w, VERDICT_WAITING, INSPECT_NONE, NULL);
		d.state.is_asked = true;
		wait_judge(&w, &d, &plain);
		check_wait(&w, c->verdict, c->confidence, c->reason);
		/* io_uring may watch what no epoll set does. */
		wait_judge(&w, &d, &io_uring);
		if (c->is_watched)
			check_wait(&w, c->verdict, c->confidence, c->reason);
		else
			check_wait(&w, VERDICT_WAITING, INSPECT_NONE, NULL);
		d.error = -EIO; /* not known */
		wait_judge(&w, &d, &plain);
		check_wait(&w, VERDICT_WAITING, INSPECT_NONE, NULL);
	}
}

static void a_closed_descriptor_is_proven_if_it_is_awaited(void)
{
	struct kernel_descriptor d = { .error = -EBADF };
	struct frame_wait w = { .fd = 0, .is_in_awaiter = true };

	wait_judge(&w, &d, &(struct judge_context){ .has_epoll = true });
	check_wait(&w, VERDICT_CLOSED, INSPECT_PROVEN,
		   "the descriptor that it waits for is closed");
	/* The name of a member is no proof that it is a descriptor. */
	wait_judge(&w, &d, &(struct judge_context){ 0 });
	check_wait(&w, VERDICT_CLOSED, INSPECT_SUSPECT, "a descriptor that it holds is closed");
	w.is_in_awaiter = false;
	wait_judge(&w, &d, &(struct judge_context){ .has_epoll = true });
	check_wait(&w, VERDICT_CLOSED, INSPECT_SUSPECT, "a descriptor that it holds is closed");
	wait_judge(&w, NULL, &(struct judge_context){ .has_epoll = true });
	check_wait(&w, VERDICT_WAITING, INSPECT_NONE, NULL);
	w.fd = -1;
	wait_judge(&w, &d, &(struct judge_context){ .has_epoll = true });
	check_wait(&w, VERDICT_WAITING, INSPECT_NONE, NULL);
}

/* ---- what the SDK told ------------------------------------------------------------------ */

static char *rest_of(struct traced_list *list, bool is_json)
{
	struct inspection in = { .traced = list };
	struct printer p;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	CHECK(f != NULL);
	printer_begin(&p, f, is_json);
	print_traced_rest(&in, &p);
	CHECK_EQ(printer_end(&p), 0);
	fclose(f);
	return text;
}

static void check_rest(struct traced_list *list, bool is_json, const char *wanted)
{
	char *text = rest_of(list, is_json);

	CHECK_STR(text, wanted);
	free(text);
}

static void a_coroutine_is_told_with_what_is_known(void)
{
	struct traced_coroutine all[] = {
		{ .id = 1, .age_ns = 1500000000, .state_ns = 200000000 },
		{ .id = 22,
		  .parent = 1,
		  .name = "worker",
		  .state = "suspended",
		  .reason = "lock",
		  .has_resource = true,
		  .resource = 7,
		  .has_waker = true,
		  .waker = 3,
		  .created = { "make", "a.c", 10 },
		  .suspended = { "wait", "b.c", 20 },
		  .suspensions = 4 },
		{ .id = 3,
		  .state = "running",
		  .reason = "timer",
		  .has_waker = true,
		  .is_adopted = true },
		{ .id = 4, .has_resource = true, .resource = 9 },
		{ .id = 5, .is_joined = true },
	};
	struct traced_list list = { .at = all, .nr = 5, .nr_joined = 1, .region = "/r" };

	check_rest(
		&list, false,
		"\nA collector that has ended traced this program: it knows 5 coroutines, 1 of "
		"them were found "
		"above, and these in no frame or task:\n"
		"   coroutine 1, state unknown for 0.2 s, suspended 0 times, created 1.5 s ago\n"
		"   coroutine 22 \"worker\", suspended (lock 7) for 0.0 s at b.c:20, suspended 4 "
		"times, created at a.c:10 0.0 s ago, by coroutine 1, woken last by coroutine "
		"3\n"
		"   coroutine 3, running (timer) for 0.0 s, suspended 0 times, adopted 0.0 s "
		"ago, woken last by no coroutine\n"
		"   coroutine 4, state unknown (resource 9) for 0.0 s, suspended 0 times, created "
		"0.0 s "
		"ago\n");
}

static void json_has_the_same_facts(void)
{
	struct traced_coroutine one[] = { { .id = 22,
					    .parent = 1,
					    .name = "w",
					    .state = "suspended",
					    .has_waker = true,
					    .created = { "make", "a.c", 10 },
					    .age_ns = 5,
					    .state_ns = 6,
					    .suspensions = 4 } };
	struct traced_list list = { .at = one, .nr = 1, .collector = 77, .region = "/r" };

	check_rest(&list, true,
		   "{\"collector\":{\"pid\":77,\"region\":\"/r\",\"coroutines\":1,\"joined\":0,"
		   "\"others\":[{\"id\":22,\"name\":\"w\",\"state\":\"suspended\",\"reason\":null,"
		   "\"resource\":null,\"state_ns\":6,\"suspended_at\":null,\"suspensions\":4,"
		   "\"created_at\":{\"function\":\"make\",\"file\":\"a.c\",\"line\":10},"
		   "\"age_ns\":5,\"adopted\":false,\"parent\":1,\"last_waker\":0}]}}\n");
	check_rest(NULL, true, "{\"collector\":null}\n");
	check_rest(NULL, false, "");
	one[0].is_joined = true;
	list.nr_joined = 1;
	check_rest(&list, false,
		   "\nA collector traces this program (pid 77): it knows 1 coroutines, 1 of them "
		   "were found above.\n");
}

static size_t lines_with(const char *text, const char *words)
{
	size_t nr = 0;

	while ((text = strstr(text, words)) != NULL) {
		nr++;
		text += strlen(words);
	}
	return nr;
}

static void text_has_twenty_and_json_all(void)
{
	struct traced_coroutine many[22] = { 0 };
	struct traced_list list = { .at = many, .nr = 20 };
	char *text = rest_of(&list, false);

	CHECK_EQ(lines_with(text, "   coroutine "), 20);
	CHECK(!strstr(text, " more"));
	free(text);
	list.nr = 22;
	text = rest_of(&list, false);
	CHECK_EQ(lines_with(text, "   coroutine "), 20);
	CHECK(strstr(text, "\n   and 2 more (--json)\n") != NULL);
	free(text);
	text = rest_of(&list, true);
	CHECK_EQ(lines_with(text, "\"id\":"), 22);
	free(text);
}

static void check_offset(struct coro_field field, uint32_t offset)
{
	struct coro_type type = { .fields = &field, .nr_fields = 1 };

	CHECK_EQ(traced_member_offset(&type), offset);
}

static void the_member_of_the_sdk_is_in_the_promise(void)
{
	static char name[] = "base.my_station.life", other[] = "my_station.live", rest[] = "life";
	struct coro_field field = { .path = name, .in_promise = true, .size = 8, .offset = 48 };

	check_offset(field, 48);
	field.path = name + 5; /* the whole name */
	check_offset(field, 48);
	field.size = 4;
	check_offset(field, 0);
	field.size = 8;
	field.in_promise = false;
	check_offset(field, 0);
	field.in_promise = true;
	field.path = other;
	check_offset(field, 0);
	field.path = rest;
	check_offset(field, 0);
	field.path = NULL;
	check_offset(field, 0);
}

/* Up to three traced coroutines of a group are shown, from the innermost frame outwards. */
static void a_group_shows_its_first_traced_coroutines(void)
{
	struct coro_frame frames[4] = { { .addr = 0x10, .parent = 1, .stack = 1 },
					{ .addr = 0x20, .parent = 2 },
					{ .addr = 0x30, .parent = 3 },
					{ .addr = 0x40, .parent = FRAME_NONE } };
	struct traced_coroutine at[4] = { { .id = 1 }, { .id = 2 }, { .id = 3 }, { .id = 4 } };
	struct inspect_level levels[1] = { { .depth = 4 } };
	uint32_t members[1] = { 0 };
	struct traced_list list = { .at = at, .nr = 4 };
	struct inspection in = { .traced = &list,
				 .table = { .frames = frames, .nr = 4 },
				 .levels = levels,
				 .members = members };
	struct inspect_group g = { .count = 1 };
	struct printer p;
	char *text = NULL;
	uint32_t i;

	for (i = 0; i < 4; i++) {
		size_t size, nr = 0;
		FILE *f = open_memstream(&text, &size);

		CHECK(f != NULL);
		CHECK_EQ(u64map_put(&list.by_frame, i, 4 - i), 0);
		printer_begin(&p, f, false);
		print_traced_group(&in, &p, &g);
		CHECK_EQ(printer_end(&p), 0);
		fclose(f);
		CHECK_EQ(strncmp(text, "   traced: coroutine 4, ", 24), 0);
		nr = lines_with(text, "coroutine ");
		CHECK_EQ(nr, i < 3 ? i + 1 : 3);
		CHECK_EQ(lines_with(text, "\n           coroutine "), nr - 1);
		CHECK_EQ(strstr(text, "           and 1 more\n") != NULL, i == 3);
		free(text);
	}
	levels[0].depth = 2; /* the stack ends before */
	{
		size_t size;
		FILE *f = open_memstream(&text, &size);

		printer_begin(&p, f, false);
		print_traced_group(&in, &p, &g);
		CHECK_EQ(printer_end(&p), 0);
		fclose(f);
		CHECK_EQ(lines_with(text, "coroutine "), 2);
		free(text);
	}
	u64map_release(&list.by_frame);
}

int main(void)
{
	RUN(a_ready_descriptor_is_a_fault_if_no_event_can_come);
	RUN(a_closed_descriptor_is_proven_if_it_is_awaited);
	RUN(a_coroutine_is_told_with_what_is_known);
	RUN(json_has_the_same_facts);
	RUN(text_has_twenty_and_json_all);
	RUN(the_member_of_the_sdk_is_in_the_promise);
	RUN(a_group_shows_its_first_traced_coroutines);
	return 0;
}

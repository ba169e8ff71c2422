/* SPDX-License-Identifier: MIT */
/*
 * test_load_stream.c - load the messages of a stream: blocks in parts, what is acknowledged and
 * when, a connection that is lost.
 *
 * The stream, the loader and the clock are the test's: a script of messages, and a log of calls.
 */
#include <errno.h>
#include <stdarg.h>
#include <time.h>

#include "base/monotonic.h"
#include "captured.h"
#include "fleet/block_stream.h"
#include "load_source.h"
#include "ship/ship_envelope.h"

volatile sig_atomic_t load_is_ending;

/* What a message says, or what the stream does in its place. */
struct step {
	char run; /* its digit; 0: nothing comes; 'L': the connection is lost; 'E': a signal */
	uint64_t number;
	uint32_t part, parts;
	const char *block;
	size_t size; /* 0: that of @block */
	int fault;   /* of the envelope */
	int labels_fault;
};

static const struct step *script;
static unsigned nr_steps, at, nr_opens, nr_closes;
static int opens[4]; /* what each open returns; the last one is repeated */
static int blocks, flushes, acks;
static bool is_due;
static uint64_t next_id, now, lasts_ns; /* a step lasts so long */
static char calls[1024];
static struct load_job job;
static unsigned nr_waits;

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list args;

	va_start(args, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, args);
	va_end(args);
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	t->tv_sec = (time_t)(now / NS_PER_SEC);
	t->tv_nsec = (long)(now % NS_PER_SEC);
	return 0;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *rest);
int __wrap_nanosleep(const struct timespec *time, struct timespec *rest)
{
	(void)rest;
	CHECK_EQ(time->tv_sec, 1);
	CHECK_EQ(time->tv_nsec, 0);
	now += NS_PER_SEC;
	note("sleep ");
	return 0;
}

struct block_stream *block_stream_open(const char *rest, struct err *err)
{
	int rc = opens[nr_opens < 3 ? nr_opens : 3];

	CHECK_STR(rest, "host");
	CHECK_EQ(err->code, 0); /* not of the last try */
	nr_opens++;
	next_id = 0;
	note("open ");
	if (!rc)
		return (struct block_stream *)&job;
	err_set(err, rc, "is away");
	return NULL;
}

int block_stream_next(struct block_stream *s, int ms, struct stream_message *m, struct err *err)
{
	const struct step *step = &script[at];

	CHECK((void *)s == (void *)&job);
	CHECK_EQ(ms, 500);
	now += lasts_ns;
	if (at == nr_steps) {
		load_is_ending = 1;
		return 0;
	}
	at++;
	if (step->run == 'E')
		load_is_ending = 1;
	if (!step->run || step->run == 'E')
		return 0;
	if (step->run == 'L')
		return err_set(err, -ECONNRESET, "connection lost");
	*m = (struct stream_message){ step, sizeof(*step), next_id++, 77 };
	return 1;
}

int block_stream_ack(struct block_stream *s, uint64_t id, struct err *err)
{
	CHECK((void *)s == (void *)&job);
	note("ack%d ", (int)id);
	return acks ? err_set(err, acks, "no answer") : 0;
}

void block_stream_close(struct block_stream *s)
{
	CHECK((void *)s == (void *)&job);
	nr_closes++;
	note("close ");
}

int ship_envelope_decode(const void *data, size_t size, struct ship_envelope *e, struct err *err)
{
	const struct step *step = data;

	CHECK_EQ(size, sizeof(*step));
	*e = (struct ship_envelope){ .number = step->number,
				     .part = step->part,
				     .parts = step->parts ? step->parts : 1,
				     .labels = (const char *)step,
				     .labels_size = 5,
				     .block = (const uint8_t *)step->block,
				     .block_size = step->size ? step->size : strlen(step->block) };
	return step->fault ? err_set(err, step->fault, "bad envelope") : 0;
}

int ship_labels_parse(const char *text, size_t size, struct ship_labels *labels, struct err *err)
{
	const struct step *step = (const struct step *)text;

	CHECK_EQ(size, 5);
	memset(labels, 0, sizeof(*labels));
	memset(labels->run, step->run, sizeof(labels->run) - 1);
	return step->labels_fault ? err_set(err, step->labels_fault, "bad labels") : 0;
}

int loader_block(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 const void *block, size_t size, int64_t arrived, struct err *err)
{
	CHECK((void *)l == (void *)&calls);
	CHECK_EQ(arrived, 77);
	note("%c%d:%.*s ", labels->run[0], (int)number, (int)size, (const char *)block);
	return blocks ? err_set(err, blocks, "no store") : 0;
}

int loader_flush(struct loader *l, struct err *err)
{
	CHECK((void *)l == (void *)&calls);
	note("flush ");
	return flushes ? err_set(err, flushes, "no store") : 0;
}

bool loader_is_due(const struct loader *l)
{
	CHECK((const void *)l == (const void *)&calls);
	return is_due;
}

static void tell_waiting(void *ctx, const struct err *err)
{
	CHECK(ctx == &nr_waits);
	nr_waits++;
	note("(%s) ", err->text);
}

/* ---- runs ---------------------------------------------------------------------------------- */

static void stream_new(const struct step *steps, unsigned nr)
{
	script = steps;
	nr_steps = nr;
	at = nr_opens = nr_closes = nr_waits = 0;
	memset(opens, 0, sizeof(opens));
	blocks = flushes = acks = 0;
	is_due = false;
	now = 5 * NS_PER_SEC;
	lasts_ns = 0;
	calls[0] = '\0';
	load_is_ending = 0;
	job = (struct load_job){ .loader = (struct loader *)&calls };
	job.loader_options.waiting = tell_waiting;
	job.loader_options.waiting_ctx = &nr_waits;
	job.loader_options.retry_s = 3;
}

#define WHOLE(id, block_number, text)                                  \
	{                                                              \
		.run = (id), .number = (block_number), .block = (text) \
	}
#define PART(id, block_number, part_number, nr, text)                                        \
	{                                                                                    \
		.run = (id), .number = (block_number), .part = (part_number), .parts = (nr), \
		.block = (text)                                                              \
	}
#define NOTHING          \
	{                \
		.run = 0 \
	}
#define LOST               \
	{                  \
		.run = 'L' \
	}
#define STOP               \
	{                  \
		.run = 'E' \
	}

/* Steps stay valid until the end of the function. */
#define STREAM(...)                                      \
	stream_new((const struct step[]){ __VA_ARGS__ }, \
		   sizeof((const struct step[]){ __VA_ARGS__ }) / sizeof(struct step))

static void load(int status, const char *expected, uint64_t unreadable)
{
	struct err err = { 0 };

	CHECK_EQ(load_stream(&job, "host", &err), status);
	if (status)
		CHECK_EQ(err.code, status);
	CHECK_STR(calls, expected);
	CHECK_EQ(job.unreadable, unreadable);
}

static void blocks_are_acknowledged_after_they_are_stored(void)
{
	STREAM(WHOLE('a', 1, "x"), WHOLE('b', 1, "y"), NOTHING, NOTHING, WHOLE('a', 2, "z"));
	load(0, "open a1:x b1:y flush ack2 a2:z flush ack3 close ", 0);
	stream_new(script, 5);
	is_due = true;
	load(0, "open a1:x flush ack1 b1:y flush ack2 a2:z flush ack3 close ", 0);
	/* A signal: what was read is stored. */
	STREAM(WHOLE('a', 1, "x"), STOP, WHOLE('a', 2, "y"));
	load(0, "open a1:x flush ack1 close ", 0);
}

static void a_block_in_parts_is_put_together(void)
{
	STREAM(PART('a', 1, 0, 3, "x"), PART('b', 7, 0, 2, "u"), PART('a', 1, 1, 3, "yy"), NOTHING,
	       PART('b', 7, 1, 2, "v"), PART('a', 1, 2, 3, "z"));
	load(0, "open flush ack0 b7:uv a1:xyyz flush ack5 close ", 0);
	/* What is not whole is not acknowledged. */
	STREAM(PART('a', 1, 0, 2, "x"), WHOLE('b', 1, "y"), PART('b', 2, 0, 2, "y"), NOTHING,
	       PART('a', 1, 1, 2, "z"), NOTHING);
	load(0, "open b1:y flush ack0 a1:xz flush ack2 close ", 0);
}

static void a_block_with_a_missing_part_is_left_out(void)
{
	STREAM(PART('a', 1, 1, 3, "x"), PART('a', 1, 2, 3, "y"));
	load(0, "open flush ack2 close ", 2);
	STREAM(PART('a', 1, 0, 3, "x"), PART('a', 1, 2, 3, "y"), PART('a', 2, 0, 2, "u"),
	       PART('a', 2, 1, 2, "v"));
	load(0, "open a2:uv flush ack4 close ", 1);
	{
		/* The next block begins. */
		STREAM(PART('a', 1, 0, 2, "x"), PART('a', 2, 0, 2, "u"), PART('a', 2, 1, 2, "v"));
		load(0, "open a2:uv flush ack3 close ", 0);
	}
	STREAM(PART('a', 1, 0, 2, "x"), PART('b', 1, 0, 2, "y"), WHOLE('a', 2, "u"),
	       PART('a', 1, 1, 2, "v"), PART('b', 1, 1, 2, "z"));
	load(0, "open a2:u b1:yz flush ack5 close ", 1);
	{
		/* The same part of another block. */
		STREAM(PART('a', 1, 0, 2, "x"), PART('a', 2, 1, 2, "y"));
		load(0, "open flush ack2 close ", 1);
	}
}

/* A loader that ended there would meet the same message again. */
static void a_block_that_is_too_large_is_left_out(void)
{
	STREAM(PART('a', 1, 0, 3, "x"),
	       { .run = 'a',
		 .number = 1,
		 .part = 1,
		 .parts = 3,
		 .block = "y",
		 .size = SHIP_BLOCK_MAX },
	       PART('a', 1, 2, 3, "z"), WHOLE('a', 2, "u"));
	load(0, "open a2:u flush ack4 close ", 2);
}

static void a_damaged_message_is_left_out(void)
{
	STREAM({ .run = 'a', .number = 1, .block = "x", .fault = -EPROTO },
	       { .run = 'a', .number = 2, .block = "y", .labels_fault = -EPROTO },
	       WHOLE('a', 3, "z"));
	captured_begin(stderr);
	load(0, "open a3:z flush ack3 close ", 2);
	CHECK_STR(captured_end(), "corotracer load: a message is left out: bad envelope\n"
				  "corotracer load: a message is left out: bad labels\n");
	STREAM(WHOLE('a', 1, "x"),
	       { .run = 'a', .number = 2, .block = "y", .labels_fault = -ENOMEM });
	load(-ENOMEM, "open a1:x close ", 0); /* it comes again */
}

static void a_store_that_fails_ends_it(void)
{
	STREAM(WHOLE('a', 1, "x"), NOTHING);
	blocks = -EIO;
	load(-EIO, "open a1:x close ", 0);
	stream_new(script, 2);
	flushes = -ENOSPC;
	load(-ENOSPC, "open a1:x flush close ", 0);
	CHECK_EQ(nr_waits, 0);
}

static void a_lost_connection_is_made_again(void)
{
	STREAM(PART('a', 1, 0, 2, "x"), WHOLE('a', 2, "y"), LOST, NOTHING, PART('a', 1, 1, 2, "z"),
	       WHOLE('a', 2, "y"));
	load(0, "open a2:y close (connection lost) sleep open a2:y flush ack2 close ",
	     1); /* the parts come again, too */
	/* No answer to an acknowledgement. */
	STREAM(WHOLE('a', 1, "x"), NOTHING, STOP);
	acks = -ETIMEDOUT;
	load(0, "open a1:x flush ack1 close (no answer) sleep open close ", 0);
}

static void a_server_that_is_away_is_waited_for(void)
{
	STREAM(WHOLE('a', 1, "x"));
	opens[0] = opens[1] = -ECONNREFUSED;
	load(0, "open (is away) sleep open (is away) sleep open a1:x flush ack1 close ", 0);
	stream_new(script, 1);
	opens[0] = opens[1] = opens[2] = opens[3] = -ECONNREFUSED;
	load(-ECONNREFUSED, "open (is away) sleep open (is away) sleep open (is away) sleep open ",
	     0);
	/* The time counts from the loss of the connection. */
	STREAM(LOST);
	lasts_ns = 9 * NS_PER_SEC;
	opens[1] = opens[2] = opens[3] = -ECONNREFUSED;
	job.loader_options.waiting = NULL;
	load(-ECONNREFUSED, "open close sleep open sleep open sleep open ", 0);
}

static void what_waiting_does_not_mend_ends_it(void)
{
	static const int codes[] = { -EINVAL, -ENOSYS, -ENOENT };
	unsigned i;

	for (i = 0; i < 3; i++) {
		stream_new(NULL, 0);
		opens[0] = codes[i];
		load(codes[i], "open ", 0);
	}
}

static void an_idle_stream_ends_it_if_asked(void)
{
	STREAM(NOTHING, NOTHING, WHOLE('a', 1, "x"), NOTHING, NOTHING, NOTHING, NOTHING);
	lasts_ns = NS_PER_SEC;
	job.idle_s = 3;
	load(0, "open a1:x flush ack1 close ", 0);
	CHECK_EQ(at, 6); /* three seconds after the block */
	STREAM(WHOLE('a', 1, "x"), NOTHING, NOTHING, NOTHING, WHOLE('a', 2, "y"));
	lasts_ns = NS_PER_SEC;
	job.idle_s = 2;
	load(0, "open a1:x flush ack1 close ", 0);
	CHECK_EQ(at, 3);
	stream_new(script, 5);
	lasts_ns = NS_PER_SEC;
	load(0, "open a1:x flush ack1 a2:y flush ack2 close ", 0);
	stream_new(script + 1, 4);
	lasts_ns = NS_PER_SEC;
	job.idle_s = 3;
	load(0, "open close ", 0);
	CHECK_EQ(at, 3);
}

int main(void)
{
	RUN(blocks_are_acknowledged_after_they_are_stored);
	RUN(a_block_in_parts_is_put_together);
	RUN(a_block_with_a_missing_part_is_left_out);
	RUN(a_block_that_is_too_large_is_left_out);
	RUN(a_damaged_message_is_left_out);
	RUN(a_store_that_fails_ends_it);
	RUN(a_lost_connection_is_made_again);
	RUN(a_server_that_is_away_is_waited_for);
	RUN(what_waiting_does_not_mend_ends_it);
	RUN(an_idle_stream_ends_it_if_asked);
	return 0;
}

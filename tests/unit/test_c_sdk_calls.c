/* SPDX-License-Identifier: MIT */
/*
 * test_c_sdk_calls.c - what each call of the C SDK writes into the trace, and what it tells the
 * runtime of memory traces.
 *
 * "test_c_sdk_calls child" is the traced program.  It has a cacheray_coroutine() of its own, which
 * notes what it is told.
 */
#include "collector_bed.h"

#include <corotracer/memory_hook.h>

#include "trace/trace_context.h"

/* ---- the traced program ------------------------------------------------------ */

static FILE *told_runtime;
static const struct corotracer_coro *first, *second;

void cacheray_coroutine(uint32_t what, const void *coroutine, uint64_t id, const void *about)
{
	static const char *const names[] = { "?",     "created",   "resumed", "suspended", "stayed",
					     "ended", "destroyed", "code",    "paused" };

	if (!told_runtime)
		return;
	fprintf(told_runtime, "%s %s %" PRIu64, names[what & CTP_MEMORY_WHAT],
		coroutine == &first->probe    ? "first"
		: coroutine == &second->probe ? "second"
					      : "other",
		id);
	if ((what & CTP_MEMORY_WHAT) == CTP_MEMORY_CREATED)
		fprintf(told_runtime, " '%s'", about ? (const char *)about : "none");
	fputc('\n', told_runtime);
}

static void set_contexts(struct corotracer_coro *co)
{
	static const uint8_t trace_id[16] = {
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16
	};
	static const uint8_t span_id[8] = { 0xf1, 0xf2, 0xf3, 0xf4, 0xf5, 0xf6, 0xf7, 0xf8 };
	static const char good[] = "00-0123456789abcdef0011223344556677-8899aabbccddeeff-01";
	static const char *const others[] = {
		"00-0123456789abcdef0011223344556677-8899aabbccddeeff-01-more",
		"01-0123456789abcdef0011223344556677-8899aabbccddeeff-01more",
		"ff-0123456789abcdef0011223344556677-8899aabbccddeeff-01",
		"00-00000000000000000000000000000000-8899aabbccddeeff-01",
		"00-0123456789abcdef0011223344556677-0000000000000000-01",
		"00-0123456789ABCDEF0011223344556677-8899aabbccddeeff-01",
		"00-0123456789abcdeg0011223344556677-8899aabbccddeeff-01",
		"00-0123456789abcde:0011223344556677-8899aabbccddeeff-01",
	};
	char bad[sizeof(good)];
	size_t i;

	CHECK_EQ(corotracer_set_traceparent(co, good), 0);
	/* Every character counts. */
	for (i = 0; i < sizeof(good) - 1; i++) {
		memcpy(bad, good, sizeof(good));
		bad[i] = 'x';
		CHECK_EQ(corotracer_set_traceparent(co, bad), -EINVAL);
	}
	memcpy(bad, good, sizeof(good));
	bad[sizeof(good) - 2] = '\0';
	CHECK_EQ(corotracer_set_traceparent(co, bad), -EINVAL);
	CHECK_EQ(corotracer_set_traceparent(co, ""), -EINVAL);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK_EQ(corotracer_set_traceparent(co, others[i]), -EINVAL);
	/* A later version, with what that may append. */
	CHECK_EQ(corotracer_set_traceparent(
			 co, "fe-00000000000000000000000000000001-0000000000000002-ff-more"),
		 0);
	corotracer_set_trace_context(co, trace_id, span_id, 3);
	CHECK_EQ(corotracer_set_traceparent(co, NULL), 0); /* none any more */
}

static int calls_child(const char *path)
{
	struct corotracer_coro a = { 0 }, b = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(100);
	first = &a;
	second = &b;
	told_runtime = fopen(path, "we");
	CHECK(told_runtime != NULL);
	CHECK_EQ(corotracer_id(&a), 0);
	CHECK_EQ(corotracer_set_traceparent(&a, "not even looked at"), 0);
	CHECK_EQ(corotracer_begin_at(&a, "named", NULL, &site_parent), 0);
	CHECK_EQ(corotracer_enabled(), 1);
	CHECK_EQ(corotracer_id(&a), 1);
	CHECK_EQ(corotracer_begin_at(&b, NULL, &a, &site_child), 0);
	CHECK_EQ(corotracer_id(&b), 2);
	set_contexts(&a);
	corotracer_wake_at(&b, NULL, NULL, 0);
	corotracer_wake_at(&b, &a, &site_wake, CTP_REASON_MUTEX);
	corotracer_wake_by(&a, &b, &site_wake, CTP_REASON_IO_READ, 0);
	corotracer_closing_at(NULL, 7, NULL);
	corotracer_acquired_at(&a, 8, NULL);
	corotracer_released_at(&a, 8, &site_lock);
	corotracer_finish(&b, 0);
	corotracer_end(&b);
	CHECK_EQ(corotracer_id(&b), 0);
	corotracer_end(&b); /* does nothing */
	corotracer_wake_at(&b, &a, NULL, 0);
	CHECK_EQ(corotracer_set_traceparent(&b, "not even looked at"), 0);
	CHECK_EQ(corotracer_begin(&b, NULL), 0);
	CHECK_EQ(corotracer_id(&b), 3);
	corotracer_end(&b);
	corotracer_end(&a);
	fclose(told_runtime);
	return 0;
}

/* ---- tests ---------------------------------------------------------------------- */

static const char *file_text(const char *path)
{
	static char all[8192];
	FILE *f = fopen(path, "re");
	size_t size;

	CHECK(f != NULL);
	size = fread(all, 1, sizeof(all) - 1, f);
	all[size] = '\0';
	fclose(f);
	return all;
}

static struct collector_config config;

static void calls_are_events(void)
{
	config = config_of(in_scratch("calls.jsonl"));
	config.argv = command("calls", in_scratch("told"));
	collect(&config);
	CHECK_EQ(r.exit_status, 0);
	read_trace(config.output);
	CHECK_STR(text, "birth 1 of 0 named story.c:10 make_parent\n"
			"birth 2 of 1  story.c:20 make_child\n"
			"context 1\ncontext 1\ncontext 1\ncontext 1\n"
			"wake 2 by 0\n"
			"wake 2 by 1 reason 6 story.c:40 wake_up\n"
			"wake 1 by 2 reason 1 on 0 story.c:40 wake_up\n"
			"close 0 on 7\n"
			"acquire 1 on 8\n"
			"release 1 on 8 story.c:50 use_lock\n"
			"end 2\n"
			"destroy 2\n"
			"birth 3 of 0 \n"
			"end 3 flags 2\n" /* ended and destroyed in one */
			"end 1 flags 2\n");
}

/* The runtime hears of creation and end, with the name or the function of the site. */
static void the_runtime_of_memory_traces_is_told(void)
{
	CHECK_STR(file_text(in_scratch("told")), "created first 1 'named'\n"
						 "created second 2 'make_child'\n"
						 "ended second 2\n"
						 "destroyed second 2\n"
						 "destroyed second 0\n"
						 "created second 3 'none'\n"
						 "destroyed second 3\n"
						 "destroyed first 1\n");
}

static void contexts_have_their_numbers(void)
{
	static const char *const wanted[] = {
		"00-0123456789abcdef0011223344556677-8899aabbccddeeff-01",
		"00-00000000000000000000000000000001-0000000000000002-ff",
		"00-0102030405060708090a0b0c0d0e0f10-f1f2f3f4f5f6f7f8-03",
		NULL,
	};
	struct err err = { 0 };
	struct trace_reader *reader = trace_reader_open(config.output, &err);
	struct trace_context context;
	char line[TRACE_CONTEXT_TEXT];
	struct trace_item item;
	unsigned nr = 0;

	CHECK(reader != NULL);
	while (trace_next(reader, &item, &err) > 0) {
		if (item.type != TRACE_ITEM_EVENT || item.event.kind != TRACE_CONTEXT)
			continue;
		CHECK(nr < 4);
		CHECK_EQ(trace_context_of(&item.event, &context), wanted[nr] != NULL);
		trace_context_format(&context, line);
		if (wanted[nr])
			CHECK_STR(line, wanted[nr]);
		nr++;
	}
	CHECK_EQ(nr, 4);
	trace_reader_close(reader);
}

int main(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[1], "child"))
		return calls_child(argv[3]);
	bed_prepare();
	RUN(calls_are_events);
	RUN(the_runtime_of_memory_traces_is_told);
	RUN(contexts_have_their_numbers);
	scratch_clean(scratch);
	return 0;
}

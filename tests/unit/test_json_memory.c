/* SPDX-License-Identifier: MIT */
/*
 * test_json_memory.c - an allocation fails inside the JSON parser: the reader reports that, and
 * does not count a line as corrupt.
 *
 * jansson takes its memory from a function of this test, which fails at the allocation that the
 * test names.  Each case is run with every allocation of its work failing in turn.
 */
#include <errno.h>
#include <jansson.h>
#include <unistd.h>

#include "base/json_parse.h"
#include "check.h"
#include "trace/trace_reader.h"

static char dir[] = "/tmp/ct_test_XXXXXX", path[64], meta[80];

static long until_failure; /* allocations that succeed; negative: all */
static long allocations;

static void *allocate(size_t size)
{
	allocations++;
	if (until_failure >= 0 && until_failure-- == 0)
		return NULL;
	return malloc(size);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	CHECK(f != NULL);
	CHECK(fputs(text, f) >= 0);
	CHECK_EQ(fclose(f), 0);
}

/* Reads the trace to its end: 0 or the error. *@garbage is the number of corrupt lines. */
static int read_trace(uint64_t *events, uint64_t *garbage, struct err *err)
{
	struct trace_reader *r = trace_reader_open(path, err);
	const struct trace_stats *stats;
	struct trace_item item;
	int rc;

	*events = 0;
	CHECK(r != NULL);
	while ((rc = trace_next(r, &item, err)) > 0)
		*events += item.type == TRACE_ITEM_EVENT;
	stats = trace_reader_stats(r);
	*garbage = stats->lines.garbage + stats->sidecar.garbage + stats->sidecar.bad_fields;
	trace_reader_close(r);
	return rc;
}

/* Every allocation of a reading fails once; a failure never corrupts a line. */
static void fail_each_allocation(uint64_t expected)
{
	uint64_t events, garbage;
	struct err err = { 0 };
	long nr, i;

	until_failure = -1;
	allocations = 0;
	CHECK_EQ(read_trace(&events, &garbage, &err), 0);
	CHECK_EQ(events, expected);
	CHECK_EQ(garbage, 0);
	nr = allocations;
	CHECK(nr > 0);
	for (i = 0; i < nr; i++) {
		err = (struct err){ 0 };
		until_failure = i;
		CHECK_EQ(read_trace(&events, &garbage, &err), -ENOMEM);
		CHECK_EQ(garbage, 0);
		CHECK(strstr(err.text, "no memory") != NULL);
		CHECK(strstr(err.text, path) != NULL);
	}
	until_failure = -1;
}

static void a_line_of_another_tool_is_not_garbage(void)
{
	write_file(path,
		   "{\"ts\":5,\"tid\":1,\"probe_id\":1,\"addr\":\"0x1\",\"seq\":2,"
		   "\"is_active\":true}\n"
		   "{\"ts\":6,\"tid\":1,\"probe_id\":18446744073709551615,\"addr\":1,\"seq\":2,"
		   "\"is_active\":false,\"more\":[1,2.5,{\"a\":\"b\"}]}\n");
	unlink(meta);
	fail_each_allocation(2);
}

/* jansson aborts if it cannot store the digit before the end of a number. */
static void numbers_of_every_length_are_survived(void)
{
	write_file(path, "{\"ts\":5,\"tid\":1,\"probe_id\":1,\"addr\":1,\"seq\":2,"
			 "\"is_active\":true,\"a\":12345678901234,\"b\":123456789012345,"
			 "\"c\":1234567890123456,\"d\":12345678901234567,"
			 "\"e\":0.123456789012345678901234567890123456789012345}\n");
	unlink(meta);
	fail_each_allocation(1);
}

static void a_line_of_the_sidecar_is_not_garbage(void)
{
	write_file(path, "");
	write_file(meta, "{\"type\":\"run\",\"format\":1,\"command\":[\"a\",\"b\"],\"pid\":5}\n"
			 "{\"type\":\"birth\",\"ts\":5,\"probe_id\":1,\"name\":\"\\u00fc\"}\n"
			 "{\"type\":\"totals\",\"complete\":true,\"others_collected\":1}\n");
	fail_each_allocation(1);
}

static void bad_json_is_still_bad_json(void)
{
	uint64_t events, garbage;
	struct err err = { 0 };
	int rc;

	CHECK(json_parse("{", 1, 0, NULL, &rc) == NULL);
	CHECK_EQ(rc, -EINVAL);
	write_file(path, "{\"ts\":5,\n");
	unlink(meta);
	CHECK_EQ(read_trace(&events, &garbage, &err), 0);
	CHECK_EQ(garbage, 1);
}

int main(void)
{
	json_set_alloc_funcs(allocate, free);
	until_failure = -1;
	CHECK(mkdtemp(dir) != NULL);
	snprintf(path, sizeof(path), "%s/trace.jsonl", dir);
	snprintf(meta, sizeof(meta), "%s.meta", path);
	RUN(a_line_of_another_tool_is_not_garbage);
	RUN(numbers_of_every_length_are_survived);
	RUN(a_line_of_the_sidecar_is_not_garbage);
	RUN(bad_json_is_still_bad_json);
	unlink(path);
	unlink(meta);
	rmdir(dir);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * test_merge.c - several traces become one: numbers that stay apart, one clock, the order of time,
 * sums of the totals; and which traces cannot be merged.
 */
#include "trace/merge.h"

#include <errno.h>

#include "base/json_writer.h"
#include "text_trace.h"
#include "trace/schema.h"
#include "trace/trace_parts.h"

static char result[16384];

static void result_add(const struct trace_item *item)
{
	size_t used = strlen(result), size;
	struct json_writer j;

	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_string(&j, "type",
			item->type == TRACE_ITEM_EVENT ? trace_kind_name(item->event.kind)
						       : schema[item->type].name);
	schema_put_json(&j, item->type, schema_const_record_of(item));
	jw_object_end(&j);
	CHECK(used + strlen(jw_text(&j, &size)) + 2 < sizeof(result));
	snprintf(result + used, sizeof(result) - used, "%s\n", jw_text(&j, &size));
	jw_release(&j);
}

static struct merge *open_merge(const char *const *names, size_t nr, bool force)
{
	static char paths[3][128];
	const char *list[3] = { paths[0], paths[1], paths[2] };
	struct err err = { 0 };
	struct merge *m;
	size_t i;

	for (i = 0; i < nr; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s.jsonl", text_path(names[i]));
	m = merge_open(list, nr, force, &err);
	if (!m)
		snprintf(result, sizeof(result), "%d: %s\nhint: %s\n", err.code, err.text,
			 err.hint);
	return m;
}

static void read_merged(struct merge *m)
{
	struct err err = { 0 };
	struct trace_reader *r = merge_reader_open(m, &err);
	struct trace_item item;
	int rc;

	CHECK(r != NULL);
	result[0] = '\0';
	while ((rc = trace_next(r, &item, &err)) > 0)
		result_add(&item);
	CHECK_EQ(rc, 0);
	CHECK_EQ(trace_next(r, &item, &err), 0); /* it stays at the end */
	trace_reader_close(r);
}

/* The items of the traces @names, one line each, in result. */
static void merge(const char *const *names, size_t nr, bool force)
{
	struct merge *m = open_merge(names, nr, force);

	if (!m)
		fprintf(stderr, "%s", result);
	CHECK(m != NULL);
	read_merged(m);
	merge_close(m);
}

static void refused(const char *a, const char *b, const char *text)
{
	const char *names[] = { a, b };

	CHECK(open_merge(names, 2, false) == NULL);
	if (!strstr(result, text)) {
		fprintf(stderr, "'%s' is not in:\n%s", text, result);
		exit(1);
	}
}

#define RUN_OF(pid, start, real, host)                                                 \
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t 1\",\"command\":[\"./p" #pid      \
	"\",\"x\"],\"pid\":" #pid ",\"start_ts\":" #start ",\"start_realtime\":" #real \
	",\"hostname\":\"" host "\",\"arch\":\"x\",\"stations\":8}\n"

static const char lines_a[] =
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1200}\n"
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x401\",\"seq\":2,\"is_active\":false,\"ts\":1300,"
	"\"site\":2,\"reason\":\"join\",\"resource\":2}\n"
	"{\"probe_id\":2,\"tid\":7,\"addr\":\"0x402\",\"seq\":2,\"is_active\":false,\"ts\":1500,"
	"\"site\":1,\"reason\":\"timer\",\"resource\":1800}\n";

static const char facts_a[] = RUN_OF(
	50, 1000, 9000,
	"h") "{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010}\n"
	     "{\"type\":\"site\",\"id\":1,\"file\":\"a.c\",\"line\":10,\"function\":\"f\",\"pid\":"
	     "50}\n"
	     "{\"type\":\"site\",\"id\":2,\"file\":\"a.c\",\"line\":20,\"function\":\"g\",\"pid\":"
	     "50}\n"
	     "{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1,\"tid\":7,\"site\":1}\n"
	     "{\"type\":\"birth\",\"ts\":1100,\"probe_id\":2,\"tid\":7,\"site\":1,\"parent\":1}\n"
	     "{\"type\":\"coroutine\",\"station\":null,\"probe_id\":1,\"pid\":50,\"name\":\"r\","
	     "\"birth_ts\":1100,\"death_ts\":null,\"dead\":false,\"writer\":\"corotracer\","
	     "\"written\":1,"
	     "\"collected\":1,\"lost\":0,\"garbage\":0,\"state\":\"suspended\",\"since_ts\":1300,"
	     "\"site\":2,\"reason\":\"join\",\"resource\":2}\n"
	     "{\"type\":\"totals\",\"complete\":true,\"written\":4,\"collected\":3,\"lost\":1,"
	     "\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":0,\"garbage\":2,"
	     "\"unfinished\":3,"
	     "\"coroutines\":2,\"without_station\":5,\"others_written\":3,\"others_collected\":2,"
	     "\"others_lost\":1,\"forgotten\":6,\"others_forgotten\":7,\"waits\":8,\"wait_ns\":9,"
	     "\"exit_status\":0,\"signal\":null,\"end_ts\":2000}\n";

static const char lines_b[] =
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1200}\n"
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x9\",\"seq\":2,\"is_active\":false,\"ts\":1400,"
	"\"site\":1,\"reason\":\"timer\",\"resource\":1900}\n";

static const char facts_b[] = RUN_OF(
	50, 1050, 9060,
	"h") "{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1060}\n"
	     "{\"type\":\"site\",\"id\":1,\"file\":\"b.c\",\"line\":5,\"function\":\"h\",\"pid\":"
	     "50}\n"
	     "{\"type\":\"wake\",\"ts\":1250,\"probe_id\":1,\"tid\":8,\"waker\":1}\n"
	     "{\"type\":\"close\",\"ts\":1260,\"tid\":8,\"probe_id\":0,\"resource\":5}\n"
	     "{\"type\":\"gap\",\"from_ts\":1270,\"to_ts\":1280,\"lane\":2,\"pid\":0,\"tid\":7,"
	     "\"transitions\":1,\"others\":2}\n"
	     "{\"type\":\"totals\",\"complete\":true,\"written\":10,\"collected\":2,\"lost\":20,"
	     "\"lost_overwritten\":30,\"lost_full\":40,\"lost_output\":0,\"garbage\":60,"
	     "\"unfinished\":70,"
	     "\"coroutines\":80,\"without_station\":90,\"others_written\":100,\"others_collected\":"
	     "2,"
	     "\"others_lost\":110,\"forgotten\":120,\"others_forgotten\":130,\"waits\":140,"
	     "\"wait_ns\":150,\"exit_status\":3,\"signal\":null,\"end_ts\":1900}\n";

/* On another computer, whose clock started 500 ns later; its program was killed. */
static const char facts_c[] = RUN_OF(
	60, 2000, 10500,
	"k") "{\"type\":\"process\",\"pid\":60,\"uid\":9,\"connected_ts\":2060}\n"
	     "{\"type\":\"switch\",\"pid\":60,\"tid\":0,\"from_ts\":2000,\"to_ts\":2000,\"cpu\":0,"
	     "\"state\":\"recorded\"}\n"
	     "{\"type\":\"totals\",\"complete\":false,\"written\":2,\"collected\":2,\"lost\":0,"
	     "\"lost_overwritten\":0,\"lost_full\":0,\"lost_output\":1,\"garbage\":0,"
	     "\"unfinished\":0,"
	     "\"coroutines\":1,\"without_station\":0,\"others_written\":0,\"others_collected\":0,"
	     "\"others_lost\":0,\"forgotten\":0,\"others_forgotten\":0,\"waits\":0,\"wait_ns\":0,"
	     "\"exit_status\":null,\"signal\":9,\"end_ts\":2500}\n";

static const char lines_c[] =
	"{\"probe_id\":18446744073709551000,\"tid\":70,\"addr\":\"0x0\",\"seq\":2,"
	"\"is_active\":true,\"ts\":2100}\n"
	"{\"probe_id\":18446744073709551000,\"tid\":70,\"addr\":\"0x9\",\"seq\":2,"
	"\"is_active\":false,\"ts\":2400,\"reason\":\"timer\",\"resource\":2450}\n";

/* Not finished: no totals. */
static const char facts_d[] = RUN_OF(
	70, 1500, 9500,
	"h") "{\"type\":\"birth\",\"ts\":1600,\"probe_id\":9,\"tid\":80,\"pid\":70}\n";
static const char lines_d[] =
	"{\"probe_id\":9,\"tid\":80,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1700}\n";

/* ---- what comes of them ---------------------------------------------------------------- */

static const char merged_ab[] =
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t 1\",\"command\":[\"./p50\",\"x\",\"+\""
	",\"./p50\",\"x\"],\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000"
	",\"hostname\":\"h\",\"arch\":\"x\",\"stations\":16}\n"
	"{\"type\":\"part\",\"number\":1,\"ids_from\":0,\"ids_to\":2,\"name\":\"a.jsonl\""
	",\"has_totals\":true,\"whole\":true,\"tool\":\"t 1\",\"command\":[\"./p50\",\"x\"]"
	",\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000,\"hostname\":\"h\""
	",\"arch\":\"x\",\"stations\":8,\"complete\":true,\"written\":4,\"collected\":3"
	",\"lost\":1,\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":0,\"garbage\":2"
	",\"unfinished\":3,\"coroutines\":2,\"without_station\":5,\"others_written\":3"
	",\"others_collected\":2,\"others_lost\":1,\"forgotten\":6,\"others_forgotten\":7"
	",\"waits\":8,\"wait_ns\":9,\"exit_status\":0,\"signal\":null,\"end_ts\":2000}\n"
	"{\"type\":\"part\",\"number\":2,\"ids_from\":1000000,\"ids_to\":1000001"
	",\"name\":\"b.jsonl\",\"has_totals\":true,\"whole\":true,\"tool\":\"t 1\""
	",\"command\":[\"./p50\",\"x\"],\"pid\":10000050,\"start_ts\":1050"
	",\"start_realtime\":9060,\"hostname\":\"h\",\"arch\":\"x\",\"stations\":8"
	",\"complete\":true,\"written\":10,\"collected\":2,\"lost\":20"
	",\"lost_overwritten\":30,\"lost_full\":40,\"lost_output\":0,\"garbage\":60"
	",\"unfinished\":70,\"coroutines\":80,\"without_station\":90,\"others_written\":100"
	",\"others_collected\":2,\"others_lost\":110,\"forgotten\":120"
	",\"others_forgotten\":130,\"waits\":140,\"wait_ns\":150,\"exit_status\":3"
	",\"signal\":null,\"end_ts\":1900}\n"
	"{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010,\"part\":1}\n"
	"{\"type\":\"site\",\"id\":1,\"file\":\"a.c\",\"line\":10,\"function\":\"f\""
	",\"pid\":50}\n"
	"{\"type\":\"site\",\"id\":2,\"file\":\"a.c\",\"line\":20,\"function\":\"g\""
	",\"pid\":50}\n"
	"{\"type\":\"process\",\"pid\":10000050,\"uid\":9,\"connected_ts\":1060,\"part\":2}\n"
	"{\"type\":\"site\",\"id\":3,\"file\":\"b.c\",\"line\":5,\"function\":\"h\""
	",\"pid\":10000050}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1,\"tid\":7,\"site\":1,\"pid\":50}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":2,\"tid\":7,\"site\":1,\"parent\":1"
	",\"pid\":50}\n"
	"{\"type\":\"resume\",\"ts\":1200,\"probe_id\":1,\"tid\":7,\"seq\":2}\n"
	"{\"type\":\"resume\",\"ts\":1200,\"probe_id\":1000001,\"tid\":10000007,\"seq\":2}\n"
	"{\"type\":\"wake\",\"ts\":1250,\"probe_id\":1000001,\"tid\":10000008"
	",\"waker\":1000001}\n"
	"{\"type\":\"close\",\"ts\":1260,\"probe_id\":0,\"tid\":10000008,\"resource\":5"
	",\"pid\":10000050}\n"
	"{\"type\":\"gap\",\"from_ts\":1270,\"to_ts\":1280,\"lane\":2,\"pid\":10000050"
	",\"tid\":10000007,\"transitions\":1,\"others\":2}\n"
	"{\"type\":\"suspend\",\"ts\":1300,\"probe_id\":1,\"tid\":7"
	",\"addr\":\"0x0000000000000401\",\"seq\":2,\"site\":2,\"reason\":\"join\""
	",\"resource\":2}\n"
	"{\"type\":\"suspend\",\"ts\":1400,\"probe_id\":1000001,\"tid\":10000007"
	",\"addr\":\"0x0000000000000009\",\"seq\":2,\"site\":3,\"reason\":\"timer\""
	",\"resource\":1900}\n"
	"{\"type\":\"suspend\",\"ts\":1500,\"probe_id\":2,\"tid\":7"
	",\"addr\":\"0x0000000000000402\",\"seq\":2,\"site\":1,\"reason\":\"timer\""
	",\"resource\":1800}\n"
	"{\"type\":\"coroutine\",\"station\":null,\"probe_id\":1,\"pid\":50,\"name\":\"r\""
	",\"birth_ts\":1100,\"death_ts\":null,\"dead\":false,\"writer\":\"corotracer\""
	",\"written\":1,\"collected\":1,\"lost\":0,\"garbage\":0,\"state\":\"suspended\""
	",\"since_ts\":1300,\"site\":2,\"reason\":\"join\",\"resource\":2}\n"
	"{\"type\":\"totals\",\"complete\":true,\"written\":14,\"collected\":5,\"lost\":21"
	",\"lost_overwritten\":31,\"lost_full\":40,\"lost_output\":0,\"garbage\":62"
	",\"unfinished\":73,\"coroutines\":82,\"without_station\":95,\"others_written\":103"
	",\"others_collected\":4,\"others_lost\":111,\"forgotten\":126"
	",\"others_forgotten\":137,\"waits\":148,\"wait_ns\":159,\"exit_status\":3"
	",\"signal\":null,\"end_ts\":2000}\n";

static const char merged_ac[] =
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t 1\",\"command\":[\"./p50\",\"x\",\"+\""
	",\"./p60\",\"x\"],\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000"
	",\"hostname\":\"h,k\",\"arch\":\"x\",\"stations\":16}\n"
	"{\"type\":\"part\",\"number\":1,\"ids_from\":0,\"ids_to\":14,\"name\":\"a.jsonl\""
	",\"has_totals\":true,\"whole\":true,\"tool\":\"t 1\",\"command\":[\"./p50\",\"x\"]"
	",\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000,\"hostname\":\"h\""
	",\"arch\":\"x\",\"stations\":8,\"complete\":true,\"written\":4,\"collected\":3"
	",\"lost\":1,\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":0,\"garbage\":2"
	",\"unfinished\":3,\"coroutines\":2,\"without_station\":5,\"others_written\":3"
	",\"others_collected\":2,\"others_lost\":1,\"forgotten\":6,\"others_forgotten\":7"
	",\"waits\":8,\"wait_ns\":9,\"exit_status\":0,\"signal\":null,\"end_ts\":2000}\n"
	"{\"type\":\"part\",\"number\":2,\"ids_from\":1000000,\"ids_to\":1000004"
	",\"name\":\"c.jsonl\",\"has_totals\":true,\"whole\":false,\"tool\":\"t 1\""
	",\"command\":[\"./p60\",\"x\"],\"pid\":60,\"start_ts\":2500,\"start_realtime\":10500"
	",\"hostname\":\"k\",\"arch\":\"x\",\"stations\":8,\"complete\":false,\"written\":2"
	",\"collected\":2,\"lost\":0,\"lost_overwritten\":0,\"lost_full\":0,\"lost_output\":1"
	",\"garbage\":0,\"unfinished\":0,\"coroutines\":1,\"without_station\":0"
	",\"others_written\":0,\"others_collected\":0,\"others_lost\":0,\"forgotten\":0"
	",\"others_forgotten\":0,\"waits\":0,\"wait_ns\":0,\"exit_status\":null,\"signal\":9"
	",\"end_ts\":3000}\n"
	"{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010,\"part\":1}\n"
	"{\"type\":\"site\",\"id\":1,\"file\":\"a.c\",\"line\":10,\"function\":\"f\""
	",\"pid\":50}\n"
	"{\"type\":\"site\",\"id\":2,\"file\":\"a.c\",\"line\":20,\"function\":\"g\""
	",\"pid\":50}\n"
	"{\"type\":\"process\",\"pid\":60,\"uid\":9,\"connected_ts\":2560,\"part\":2}\n"
	"{\"type\":\"switch\",\"pid\":60,\"tid\":0,\"from_ts\":2500,\"to_ts\":2500,\"cpu\":0"
	",\"state\":\"recorded\"}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1,\"tid\":7,\"site\":1,\"pid\":50}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":2,\"tid\":7,\"site\":1,\"parent\":1"
	",\"pid\":50}\n"
	"{\"type\":\"resume\",\"ts\":1200,\"probe_id\":1,\"tid\":7,\"seq\":2}\n"
	"{\"type\":\"suspend\",\"ts\":1300,\"probe_id\":1,\"tid\":7"
	",\"addr\":\"0x0000000000000401\",\"seq\":2,\"site\":2,\"reason\":\"join\""
	",\"resource\":2}\n"
	"{\"type\":\"suspend\",\"ts\":1500,\"probe_id\":2,\"tid\":7"
	",\"addr\":\"0x0000000000000402\",\"seq\":2,\"site\":1,\"reason\":\"timer\""
	",\"resource\":1800}\n"
	"{\"type\":\"resume\",\"ts\":2600,\"probe_id\":1000001,\"tid\":70,\"seq\":2}\n"
	"{\"type\":\"suspend\",\"ts\":2900,\"probe_id\":1000001,\"tid\":70"
	",\"addr\":\"0x0000000000000009\",\"seq\":2,\"reason\":\"timer\",\"resource\":2950}\n"
	"{\"type\":\"coroutine\",\"station\":null,\"probe_id\":1,\"pid\":50,\"name\":\"r\""
	",\"birth_ts\":1100,\"death_ts\":null,\"dead\":false,\"writer\":\"corotracer\""
	",\"written\":1,\"collected\":1,\"lost\":0,\"garbage\":0,\"state\":\"suspended\""
	",\"since_ts\":1300,\"site\":2,\"reason\":\"join\",\"resource\":2}\n"
	"{\"type\":\"totals\",\"complete\":false,\"written\":6,\"collected\":5,\"lost\":1"
	",\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":1,\"garbage\":2"
	",\"unfinished\":3,\"coroutines\":3,\"without_station\":5,\"others_written\":3"
	",\"others_collected\":2,\"others_lost\":1,\"forgotten\":6,\"others_forgotten\":7"
	",\"waits\":8,\"wait_ns\":9,\"exit_status\":null,\"signal\":9,\"end_ts\":3000}\n";

static const char merged_da[] =
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t 1\",\"command\":[\"./p70\",\"x\",\"+\""
	",\"./p50\",\"x\"],\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000"
	",\"hostname\":\"h\",\"arch\":\"x\",\"stations\":16}\n"
	"{\"type\":\"part\",\"number\":1,\"ids_from\":0,\"ids_to\":9,\"name\":\"d.jsonl\""
	",\"has_totals\":false,\"whole\":false,\"tool\":\"t 1\",\"command\":[\"./p70\",\"x\"]"
	",\"pid\":70,\"start_ts\":1500,\"start_realtime\":9500,\"hostname\":\"h\""
	",\"arch\":\"x\",\"stations\":8,\"complete\":false,\"written\":0,\"collected\":0"
	",\"lost\":0,\"lost_overwritten\":0,\"lost_full\":0,\"lost_output\":0,\"garbage\":0"
	",\"unfinished\":0,\"coroutines\":0,\"without_station\":0,\"others_written\":0"
	",\"others_collected\":0,\"others_lost\":0,\"forgotten\":0,\"others_forgotten\":0"
	",\"waits\":0,\"wait_ns\":0,\"exit_status\":null,\"signal\":null,\"end_ts\":0}\n"
	"{\"type\":\"part\",\"number\":2,\"ids_from\":1000000,\"ids_to\":1000002"
	",\"name\":\"a.jsonl\",\"has_totals\":true,\"whole\":true,\"tool\":\"t 1\""
	",\"command\":[\"./p50\",\"x\"],\"pid\":50,\"start_ts\":1000,\"start_realtime\":9000"
	",\"hostname\":\"h\",\"arch\":\"x\",\"stations\":8,\"complete\":true,\"written\":4"
	",\"collected\":3,\"lost\":1,\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":0"
	",\"garbage\":2,\"unfinished\":3,\"coroutines\":2,\"without_station\":5"
	",\"others_written\":3,\"others_collected\":2,\"others_lost\":1,\"forgotten\":6"
	",\"others_forgotten\":7,\"waits\":8,\"wait_ns\":9,\"exit_status\":0,\"signal\":null"
	",\"end_ts\":2000}\n"
	"{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010,\"part\":2}\n"
	"{\"type\":\"site\",\"id\":1,\"file\":\"a.c\",\"line\":10,\"function\":\"f\""
	",\"pid\":50}\n"
	"{\"type\":\"site\",\"id\":2,\"file\":\"a.c\",\"line\":20,\"function\":\"g\""
	",\"pid\":50}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1000001,\"tid\":7,\"site\":1"
	",\"pid\":50}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1000002,\"tid\":7,\"site\":1"
	",\"parent\":1000001,\"pid\":50}\n"
	"{\"type\":\"resume\",\"ts\":1200,\"probe_id\":1000001,\"tid\":7,\"seq\":2}\n"
	"{\"type\":\"suspend\",\"ts\":1300,\"probe_id\":1000001,\"tid\":7"
	",\"addr\":\"0x0000000000000401\",\"seq\":2,\"site\":2,\"reason\":\"join\""
	",\"resource\":1000002}\n"
	"{\"type\":\"suspend\",\"ts\":1500,\"probe_id\":1000002,\"tid\":7"
	",\"addr\":\"0x0000000000000402\",\"seq\":2,\"site\":1,\"reason\":\"timer\""
	",\"resource\":1800}\n"
	"{\"type\":\"birth\",\"ts\":1600,\"probe_id\":9,\"tid\":80,\"pid\":70}\n"
	"{\"type\":\"resume\",\"ts\":1700,\"probe_id\":9,\"tid\":80,\"seq\":2}\n"
	"{\"type\":\"coroutine\",\"station\":null,\"probe_id\":1000001,\"pid\":50"
	",\"name\":\"r\",\"birth_ts\":1100,\"death_ts\":null,\"dead\":false"
	",\"writer\":\"corotracer\",\"written\":1,\"collected\":1,\"lost\":0,\"garbage\":0"
	",\"state\":\"suspended\",\"since_ts\":1300,\"site\":2,\"reason\":\"join\""
	",\"resource\":1000002}\n"
	"{\"type\":\"totals\",\"complete\":false,\"written\":5,\"collected\":4,\"lost\":1"
	",\"lost_overwritten\":1,\"lost_full\":0,\"lost_output\":0,\"garbage\":2"
	",\"unfinished\":3,\"coroutines\":2,\"without_station\":5,\"others_written\":4"
	",\"others_collected\":3,\"others_lost\":1,\"forgotten\":6,\"others_forgotten\":7"
	",\"waits\":8,\"wait_ns\":9,\"exit_status\":null,\"signal\":null,\"detached\":true"
	",\"end_ts\":2000}\n";

static void make_traces(void)
{
	text_trace("a", lines_a, facts_a);
	text_trace("b", lines_b, facts_b);
	text_trace("c", lines_c, facts_c);
	text_trace("d", lines_d, facts_d);
}

static void numbers_that_two_traces_have_are_raised(void)
{
	merge((const char *[]){ "a", "b" }, 2, false);
	CHECK_STR(result, merged_ab);
}

/* Numbers that are too large to be raised are replaced. */
static void times_of_another_clock_are_converted(void)
{
	merge((const char *[]){ "a", "c" }, 2, true);
	CHECK_STR(result, merged_ac);
}

static void a_trace_without_totals_makes_the_merged_one_unfinished(void)
{
	merge((const char *[]){ "d", "a" }, 2, false);
	CHECK_STR(result, merged_da);
}

static void three_traces_have_three_ranges_of_numbers(void)
{
	merge((const char *[]){ "a", "b", "d" }, 3, false);
	CHECK(strstr(result, "\"number\":3,\"ids_from\":2000000,\"ids_to\":2000009,"));
	CHECK(strstr(result, "{\"type\":\"resume\",\"ts\":1700,\"probe_id\":2000009,\"tid\":80,"));
	CHECK(strstr(result, "\"tid\":10000007,")); /* of b, as a has a thread 7 */
	CHECK(strstr(result, "\"exit_status\":null,\"signal\":null,\"detached\":true,"));
}

/* ---- refused ---------------------------------------------------------------------------- */

static void traces_that_do_not_fit_are_refused(void)
{
	text_write("x.jsonl", "hello\n");
	refused("a", "x", "-22: cannot merge '");
	refused("a", "x", "x.jsonl': it holds no events\nhint: line 1: ");
	refused("a", "none", "-2: cannot open '");
	refused("a", "a", "a.jsonl' with itself\nhint: name each trace once\n");
	text_trace("copy", lines_a, facts_a);
	refused("a", "copy", "both are of the same run\nhint: name the trace of each run once\n");
	refused("a", "c",
		"they are of different computers or boots, and have different clocks\n"
		"hint: --force places their events by the wall clocks of both\n");
	text_trace("bare", lines_a, NULL);
	refused("a", "bare", "bare.jsonl': it does not say when its clock started\n");
	refused("bare", "b",
		"bare.jsonl': it does not say when its clock started\n"
		"hint: --force takes its times as they are, if you know that the "
		"clock is the same\n");
	text_trace("odd", lines_a, RUN_OF(51, 5000, 100, "h"));
	refused("a", "odd",
		"their clocks are not known\nhint: --force takes their times as they "
		"are\n");
}

static void an_input_has_to_be_a_file(void)
{
	const char *paths[] = { "-", "/dev/null" };
	struct err err = { 0 };

	CHECK(merge_open(paths, 1, false, &err) == NULL);
	CHECK_EQ(err.code, -EINVAL);
	CHECK_STR(err.text, "cannot merge standard input: a merge reads its input twice");
	CHECK_STR(err.hint, "write it to a file first");
	CHECK(merge_open(paths + 1, 1, false, &err) == NULL);
	CHECK_STR(err.text,
		  "cannot merge '/dev/null': it is not a file, and a merge reads it twice");
}

/* The clock of one boot may be set meanwhile, by up to five seconds. */
static void clocks_five_seconds_apart_are_of_one_boot(void)
{
	text_trace("near", lines_b, RUN_OF(52, 1000, 5000009000, "h"));
	text_trace("far", lines_b, RUN_OF(52, 1000, 5000009001, "h"));
	merge((const char *[]){ "a", "near" }, 2, false);
	CHECK(strstr(result, "{\"type\":\"resume\",\"ts\":1200,\"probe_id\":1000001,"));
	refused("a", "far", "different computers or boots");
	merge((const char *[]){ "far", "a" }, 2, true); /* all on the clock that started first */
	CHECK(strstr(result, "{\"type\":\"resume\",\"ts\":5000001201,\"probe_id\":1,"));
	CHECK(strstr(result, "\"start_ts\":1000,\"start_realtime\":9000,"));
}

/* ---- parts ------------------------------------------------------------------------------- */

#define PART_OF(number, from, to, pid)                                                         \
	"{\"type\":\"part\",\"number\":" #number ",\"ids_from\":" #from ",\"ids_to\":" #to     \
	",\"name\":\"n" #number "\",\"has_totals\":true,\"whole\":true,\"tool\":\"t\","        \
	"\"command\":[\"./p\"],\"pid\":" #pid ",\"start_ts\":100" #number                      \
	",\"start_realtime\":900" #number ",\"hostname\":\"h\",\"arch\":\"x\",\"stations\":8," \
	"\"complete\":true,\"written\":1,\"collected\":" #number ",\"end_ts\":2000}\n"

static const char facts_m[] = RUN_OF(50, 1000, 9000, "h") PART_OF(1, 0, 5, 50) PART_OF(
	2, 1000000, 1000005,
	60) "{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010,\"part\":1}\n"
	    "{\"type\":\"process\",\"pid\":60,\"uid\":9,\"connected_ts\":1020,\"part\":2}\n";

static void a_merged_input_keeps_its_parts(void)
{
	text_trace("m", lines_a, facts_m);
	merge((const char *[]){ "d", "m" }, 2, false);
	CHECK(strstr(result,
		     "{\"type\":\"part\",\"number\":1,\"ids_from\":0,\"ids_to\":9,\"name\":\"d."));
	CHECK(strstr(result, "{\"type\":\"part\",\"number\":2,\"ids_from\":10000000,"
			     "\"ids_to\":10000005,\"name\":\"n1\""));
	CHECK(strstr(result, "{\"type\":\"part\",\"number\":3,\"ids_from\":11000000,"
			     "\"ids_to\":11000005,\"name\":\"n2\""));
	CHECK(strstr(result, "\"pid\":60,\"uid\":9,\"connected_ts\":1020,\"part\":3}"));
	merge((const char *[]){ "m", "d" }, 2, false);
	CHECK(strstr(result, "{\"type\":\"part\",\"number\":3,\"ids_from\":10000000,"
			     "\"ids_to\":10000009,\"name\":\"d.jsonl\""));
}

static void items_belong_to_parts(void)
{
	struct trace_parts parts = { 0 };
	const struct trace_part *part;
	struct trace_item item;
	struct err err = { 0 };
	unsigned type;

	CHECK_EQ(trace_parts_read(&parts, text_path("m.jsonl"), &err), 0);
	CHECK_EQ(parts.nr, 2);
	part = trace_parts_find(&parts, 2);
	CHECK(part && !strcmp(part->name, "n2") && !strcmp(part->run.command[0], "./p"));
	CHECK(trace_parts_find(&parts, 3) == NULL);
	for (type = 0; type < NR_TRACE_ITEM_TYPES; type++) {
		size_t i;

		trace_item_init(&item, (enum trace_item_type)type);
		if (type == TRACE_ITEM_RUN || type == TRACE_ITEM_TOTALS ||
		    type == TRACE_ITEM_SITE || type == TRACE_ITEM_PART)
			continue;
		for (i = 0; i < schema[type].nr; i++) {
			const struct schema_field *f = &schema[type].fields[i];

			if (f->key && !strcmp(f->key, "pid"))
				schema_set_number(f, schema_record_of(&item), 60);
		}
		item.process.part = type == TRACE_ITEM_PROCESS ? 2 : item.process.part;
		CHECK_EQ(trace_parts_of(&parts, &item), 2);
		CHECK(trace_parts_take(&parts, part, &item));
		CHECK(!trace_parts_take(&parts, trace_parts_find(&parts, 1), &item));
	}
	trace_parts_release(&parts);
	CHECK_EQ(parts.nr, 0);
}

static uint64_t part_of_coroutine(const struct trace_parts *parts, uint64_t id, uint32_t pid)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	item.event.probe_id = id;
	item.event.pid = pid;
	return trace_parts_of(parts, &item);
}

static void coroutines_belong_to_the_part_of_their_numbers(void)
{
	struct trace_parts parts = { 0 };
	struct trace_item item;
	struct err err = { 0 };

	CHECK_EQ(trace_parts_read(&parts, text_path("m.jsonl"), &err), 0);
	CHECK_EQ(part_of_coroutine(&parts, 1, 60), 1);
	CHECK_EQ(part_of_coroutine(&parts, 5, 0), 1);
	CHECK_EQ(part_of_coroutine(&parts, 6, 0), 0);
	CHECK_EQ(part_of_coroutine(&parts, 6, 50), 1);
	CHECK_EQ(part_of_coroutine(&parts, 0, 60), 2); /* of no coroutine */
	CHECK_EQ(part_of_coroutine(&parts, 0, 0), 1);  /* a coroutine 0 */
	CHECK_EQ(part_of_coroutine(&parts, 1000000, 0), 2);
	CHECK_EQ(part_of_coroutine(&parts, 1000005, 0), 2);
	CHECK_EQ(part_of_coroutine(&parts, 0, 99), 0);
	trace_item_init(&item, TRACE_ITEM_RUN);
	CHECK(trace_parts_take(&parts, &parts.list[1], &item));
	CHECK_EQ(item.run.start_ts, 1002);
	trace_item_init(&item, TRACE_ITEM_TOTALS);
	CHECK(trace_parts_take(&parts, &parts.list[1], &item));
	CHECK_EQ(item.totals.collected, 2);
	parts.list[1].has_totals = false;
	CHECK(!trace_parts_take(&parts, &parts.list[1], &item));
	trace_item_init(&item, TRACE_ITEM_SITE); /* of all parts */
	CHECK(trace_parts_take(&parts, &parts.list[1], &item));
	trace_parts_release(&parts);
	CHECK_EQ(trace_parts_read(&parts, text_path("none"), &err), -ENOENT);
}

int main(void)
{
	text_make_dir();
	make_traces();
	RUN(numbers_that_two_traces_have_are_raised);
	RUN(times_of_another_clock_are_converted);
	RUN(a_trace_without_totals_makes_the_merged_one_unfinished);
	RUN(three_traces_have_three_ranges_of_numbers);
	RUN(traces_that_do_not_fit_are_refused);
	RUN(an_input_has_to_be_a_file);
	RUN(clocks_five_seconds_apart_are_of_one_boot);
	RUN(a_merged_input_keeps_its_parts);
	RUN(items_belong_to_parts);
	RUN(coroutines_belong_to_the_part_of_their_numbers);
	return 0;
}

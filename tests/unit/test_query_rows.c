/* SPDX-License-Identifier: MIT */
/*
 * test_query_rows.c - the rows of each table of a query, from a small trace in every format; which
 * conditions reach a scan, and what a statement may not do.
 */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export/export.h"
#include "query/query.h"
#include "text_trace.h"

/* ---- a trace ---------------------------------------------------------------------- */

static const char lines[] =
	"{\"probe_id\":2,\"tid\":8,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1160}\n"
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1200}\n"
	"{\"probe_id\":1,\"tid\":7,\"addr\":\"0x401000\",\"seq\":2,\"is_active\":false,\"ts\":1300,"
	"\"site\":2,\"reason\":\"io-read\",\"resource\":5}\n"
	"{\"probe_id\":1,\"tid\":8,\"addr\":\"0x0\",\"seq\":4,\"is_active\":true,\"ts\":1400}\n"
	"{\"probe_id\":3,\"tid\":7,\"addr\":\"0x500000\",\"seq\":2,\"is_active\":false,\"ts\":1450}"
	"\n"
	"{\"probe_id\":1,\"tid\":8,\"addr\":\"0x402000\",\"seq\":4,\"is_active\":false,\"ts\":1500,"
	"\"site\":1,\"reason\":\"mutex\",\"resource\":4096}\n"
	"{\"probe_id\":3,\"tid\":7,\"addr\":\"0x500000\",\"seq\":4,\"is_active\":false,\"ts\":1550}"
	"\n"
	"{\"probe_id\":4,\"tid\":7,\"addr\":\"0x0\",\"seq\":2,\"is_active\":true,\"ts\":1610,"
	"\"station\":6}\n";

static const char facts[] =
	"{\"type\":\"run\",\"format\":1,\"tool\":\"t 1\",\"command\":[\"./a\"],\"pid\":50,"
	"\"start_ts\":1000,\"start_realtime\":1700000000000000000,\"hostname\":\"h\",\"arch\":"
	"\"x\","
	"\"stations\":8}\n"
	"{\"type\":\"process\",\"pid\":50,\"uid\":9,\"connected_ts\":1010}\n"
	"{\"type\":\"site\",\"id\":1,\"file\":\"src/"
	"a.c\",\"line\":10,\"function\":\"main\",\"pid\":50}\n"
	"{\"type\":\"site\",\"id\":2,\"file\":\"b[1].c\",\"line\":20,\"function\":\"work\",\"pid\":"
	"50}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":0,\"from_ts\":1100,\"to_ts\":1100,\"cpu\":0,"
	"\"state\":\"recorded\"}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":8,\"from_ts\":1430,\"to_ts\":1450,\"cpu\":1,"
	"\"state\":\"preempted\"}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":8,\"from_ts\":1460,\"to_ts\":1520,\"cpu\":2,"
	"\"state\":\"blocked\"}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":8,\"from_ts\":1150,\"to_ts\":1170,\"cpu\":2,"
	"\"state\":\"ready\"}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":0,\"from_ts\":1290,\"to_ts\":1300,\"cpu\":3,"
	"\"lost\":12,\"state\":\"lost\"}\n"
	"{\"type\":\"switch\",\"pid\":50,\"tid\":0,\"from_ts\":1385,\"to_ts\":1400,\"cpu\":3,"
	"\"lost\":5,\"state\":\"lost\"}\n"
	"{\"type\":\"frame\",\"pid\":50,\"tid\":7,\"ts\":1250,\"probe_id\":1,\"ticket\":4,"
	"\"buffer\":\"buf\",\"frame\":\"Req\",\"fields\":\"{\\\"size\\\":11,\\\"ts\\\":3}\"}\n"
	"{\"type\":\"frame\",\"pid\":50,\"tid\":8,\"ts\":1260,\"ticket\":5,"
	"\"buffer\":\"buf\",\"frame\":\"Req\",\"fields\":\"{\\\"size\\\":12}\"}\n"
	"{\"type\":\"frame\",\"pid\":50,\"ts\":1270,\"lost\":3,\"buffer\":\"buf\"}\n"
	"{\"type\":\"memory\",\"pid\":50,\"from_ts\":1200,\"to_ts\":1300,\"accesses\":70,"
	"\"writes\":30,"
	"\"allocations\":2,\"allocated\":128,\"tid\":7,\"probe_id\":1,\"offset\":64}\n"
	"{\"type\":\"memory\",\"pid\":50,\"from_ts\":1000,\"to_ts\":2000,\"accesses\":90,"
	"\"writes\":40,"
	"\"allocations\":3,\"allocated\":256,\"size\":4000,\"lost\":1,\"file\":\"m.mem\"}\n"
	"{\"type\":\"birth\",\"ts\":1100,\"probe_id\":1,\"tid\":7,\"site\":1,\"pid\":50,"
	"\"name\":\"root\"}\n"
	"{\"type\":\"birth\",\"ts\":1150,\"probe_id\":2,\"tid\":7,\"site\":2,\"parent\":1,"
	"\"name\":\"kid\"}\n"
	"{\"type\":\"acquire\",\"ts\":1170,\"probe_id\":2,\"tid\":8,\"resource\":4096,\"pid\":50}\n"
	"{\"type\":\"context\",\"ts\":1180,\"probe_id\":2,\"tid\":8,"
	"\"trace_high\":\"0x0af7651916cd43dd\",\"trace_low\":\"0x8448eb211c80319c\","
	"\"span\":\"0x00f067aa0ba902b7\",\"trace_flags\":1}\n"
	"{\"type\":\"wake\",\"ts\":1350,\"probe_id\":1,\"tid\":8,\"waker\":2,\"reason\":\"io-"
	"read\"}\n"
	"{\"type\":\"wake\",\"ts\":1360,\"probe_id\":1,\"tid\":9,\"waker\":3}\n"
	"{\"type\":\"end\",\"ts\":1380,\"probe_id\":2,\"tid\":8,\"written\":1,\"destroyed\":true}\n"
	"{\"type\":\"gap\",\"from_ts\":1540,\"to_ts\":1545,\"lane\":2,\"pid\":50,\"tid\":7,"
	"\"transitions\":1,\"others\":2}\n"
	"{\"type\":\"destroy\",\"ts\":1600,\"probe_id\":3,\"tid\":7,\"was_suspended\":true,"
	"\"cancelled\":true}\n"
	"{\"type\":\"coroutine\",\"station\":null,\"probe_id\":1,\"pid\":50,\"name\":\"root\","
	"\"birth_ts\":1100,\"death_ts\":null,\"dead\":false,\"writer\":\"corotracer\",\"written\":"
	"4,"
	"\"collected\":4,\"lost\":0,\"garbage\":0,\"birth_site\":1,\"state\":\"suspended\","
	"\"since_ts\":1500,\"site\":1,\"reason\":\"mutex\",\"resource\":4096}\n"
	"{\"type\":\"totals\",\"complete\":true,\"written\":9,\"collected\":8,\"lost\":1,"
	"\"lost_overwritten\":0,\"lost_full\":1,\"lost_output\":0,\"garbage\":0,\"unfinished\":0,"
	"\"coroutines\":4,\"without_station\":0,\"others_written\":10,\"others_collected\":8,"
	"\"others_lost\":2,\"forgotten\":0,\"others_forgotten\":0,\"waits\":0,\"wait_ns\":0,"
	"\"exit_status\":3,\"signal\":null,\"end_ts\":2000}\n";

static const char *const formats[] = { "jsonl", "ctf", "ct" };

static void convert(const char *from, const char *to, const char *format)
{
	struct export_options options = { .trace = from, .output = to, .quiet = true };
	struct export_result result;
	struct err err = { 0 };

	if (export_run(sink_find(format), &options, &result, &err) < 0)
		fprintf(stderr, "%s\n", err.text);
	CHECK(!err.code);
	export_result_release(&result);
}

static void make_traces(void)
{
	text_trace("t", lines, facts);
	convert(text_path("t.jsonl"), text_path("t.ctf"), "ctf");
	convert(text_path("t.jsonl"), text_path("t.ct"), "ct");
}

/* ---- statements --------------------------------------------------------------------- */

struct result {
	char text[8192];
	size_t used;
	unsigned rows, begins;
};

static void result_put(struct result *r, const char *text, size_t size)
{
	CHECK(r->used + size < sizeof(r->text));
	memcpy(r->text + r->used, text, size);
	r->used += size;
	r->text[r->used] = '\0';
}

static int result_begin(void *to, const char *const *names, size_t nr, struct err *err)
{
	(void)names;
	(void)nr;
	(void)err;
	((struct result *)to)->begins++;
	return 0;
}

/* A row is a line, with bars between the cells; "-" is NULL. */
static int result_row(void *to, const struct cell *cells, size_t nr, struct err *err)
{
	struct result *r = to;
	char number[64];
	size_t i;

	(void)err;
	for (i = 0; i < nr; i++) {
		const struct cell *c = &cells[i];

		if (i)
			result_put(r, "|", 1);
		if (c->kind == CELL_SIGNED)
			snprintf(number, sizeof(number), "%lld", (long long)c->i);
		else if (c->kind == CELL_DOUBLE)
			snprintf(number, sizeof(number), "%.10g", c->d);
		else
			snprintf(number, sizeof(number), "-");
		if (c->kind == CELL_TEXT)
			result_put(r, c->text, c->size);
		else
			result_put(r, number, strlen(number));
	}
	result_put(r, "\n", 1);
	r->rows++;
	return 0;
}

static struct query *open_trace(const char *format)
{
	struct query_options options = { 0 };
	struct err err = { 0 };
	char name[16];
	struct query *q;
	static char path[128];

	snprintf(name, sizeof(name), "t.%s", format);
	snprintf(path, sizeof(path), "%s", text_path(name));
	options.trace = path;
	q = query_open(&options, &err);
	if (!q)
		fprintf(stderr, "%s\n", err.text);
	CHECK(q != NULL);
	return q;
}

static void expect(struct query *q, const char *sql, const char *wanted)
{
	static struct result r;
	const struct query_output output = { &r, result_begin, result_row };
	struct err err = { 0 };
	int position;

	memset(&r, 0, sizeof(r));
	if (query_run(q, sql, &output, &position, &err) < 0)
		fprintf(stderr, "%s: %s\n", sql, err.text);
	CHECK(!err.code);
	CHECK_EQ(r.begins, 1);
	if (strcmp(r.text, wanted) != 0)
		fprintf(stderr, "%s\n", sql);
	CHECK_STR(r.text, wanted);
}

/* The same rows from every format. */
static void expect_all(const char *sql, const char *wanted)
{
	unsigned i;

	for (i = 0; i < 3; i++) {
		struct query *q = open_trace(formats[i]);

		expect(q, sql, wanted);
		query_close(q);
	}
}

static void expect_error(struct query *q, const char *sql, int code, int at, const char *text,
			 const char *hint)
{
	static struct result r;
	const struct query_output output = { &r, result_begin, result_row };
	struct err err = { 0 };
	int position;

	memset(&r, 0, sizeof(r));
	CHECK_EQ(query_run(q, sql, &output, &position, &err), code);
	CHECK_EQ(err.code, code);
	CHECK_EQ(position, at);
	CHECK_STR(err.text, text);
	CHECK_STR(err.hint, hint);
}

/* ---- tables --------------------------------------------------------------------------- */

static void events_and_intervals_have_all_their_fields(void)
{
	expect_all("SELECT * FROM events ORDER BY ts",
		   "1|7|-|-|-|1100|birth|-|1|-|-|-|-|50|root\n"
		   "2|7|-|-|-|1150|birth|-|2|-|-|1|-|-|kid\n"
		   "2|8|0x0000000000000000|2|1|1160|resume|-|-|-|-|-|-|-|-\n"
		   "2|8|-|-|-|1170|acquire|-|-|-|4096|-|-|50|-\n"
		   "2|8|-|-|-|1180|context|-|-|-|-|-|-|-|00-0af7651916cd43dd8448eb211c80319c-"
		   "00f067aa0ba902b7-01\n"
		   "1|7|0x0000000000000000|2|1|1200|resume|-|-|-|-|-|-|-|-\n"
		   "1|7|0x0000000000401000|2|0|1300|suspend|-|2|io-read|5|-|-|-|-\n"
		   "1|8|-|-|-|1350|wake|-|-|io-read|-|2|-|-|-\n"
		   "1|9|-|-|-|1360|wake|-|-|-|-|3|-|-|-\n"
		   "2|8|-|-|-|1380|end|-|-|-|-|-|destroyed|-|-\n"
		   "1|8|0x0000000000000000|4|1|1400|resume|-|-|-|-|-|-|-|-\n"
		   "3|7|0x0000000000500000|2|0|1450|suspend|-|-|-|-|-|-|-|-\n"
		   "1|8|0x0000000000402000|4|0|1500|suspend|-|1|mutex|4096|-|-|-|-\n"
		   "3|7|0x0000000000500000|4|0|1550|suspend|-|-|-|-|-|-|-|-\n"
		   "3|7|-|-|-|1600|destroy|-|-|-|-|-|was-suspended,cancelled|-|-\n"
		   "4|7|0x0000000000000000|2|1|1610|resume|6|-|-|-|-|-|-|-\n");
	expect_all("SELECT part, run FROM events LIMIT 1", "-|1700000000000000000\n");
	expect_all("SELECT * FROM waits ORDER BY from_ts",
		   "1|1300|1400|100|7|2|io-read|5|0x0000000000401000|resume|-|8|1350|2\n"
		   "3|1450|-|-|7|-|-|-|0x0000000000500000|lost|-|-|-|-\n"
		   "1|1500|-|-|8|1|mutex|4096|0x0000000000402000|-|-|-|-|-\n"
		   "3|1550|1600|50|7|-|-|-|0x0000000000500000|destroy|-|7|-|-\n");
	expect_all("SELECT * FROM slices ORDER BY from_ts",
		   "2|1160|1380|220|8|-|-|-|-|end|-|-|-|-\n"
		   "1|1200|1300|100|7|2|io-read|5|0x0000000000401000|suspend|-|-|-|-\n"
		   "1|1400|1500|100|8|1|mutex|4096|0x0000000000402000|suspend|-|40|20|40\n"
		   "4|1610|-|-|7|-|-|-|-|-|6|-|-|-\n");
	expect_all("SELECT rowid, kind FROM events WHERE ts <= 1160 ORDER BY ts",
		   "1|birth\n2|birth\n3|resume\n");
}

static void facts_have_all_their_fields(void)
{
	expect_all("SELECT * FROM coroutines ORDER BY probe_id",
		   "1|-|50|root|-|1100|1|-|-|suspended|1500|1|mutex|4096|4|0\n"
		   "2|-|-|kid|1|1150|2|1380|1380|-|-|-|-|-|1|0\n"
		   "3|-|-|-|-|-|-|-|1600|-|-|-|-|-|0|0\n");
	expect_all("SELECT run FROM coroutines LIMIT 1", "1700000000000000000\n");
	expect_all("SELECT * FROM sites", "1|src/a.c|10|main\n2|b[1].c|20|work\n");
	expect_all("SELECT * FROM switches ORDER BY from_ts",
		   "50|0|1100|1100|0|recorded|-\n50|8|1150|1170|2|ready|-\n"
		   "50|0|1290|1300|3|lost|12\n50|0|1385|1400|3|lost|5\n"
		   "50|8|1430|1450|1|preempted|-\n50|8|1460|1520|2|blocked|-\n");
	expect_all("SELECT * FROM frames",
		   "50|7|1250|1|buf|Req|4|{\"size\":11,\"ts\":3}|-|-\n"
		   "50|8|1260|-|buf|Req|5|{\"size\":12}|-|-\n50|-|1270|-|buf|-|-|-|3|-\n");
	expect_all("SELECT * FROM processes", "50|9|1010|-\n");
	expect_all("SELECT * FROM run", "1|t 1|50|1000|1700000000000000000|h|x|8\n");
	expect_all("SELECT * FROM totals", "1|9|8|1|0|1|0|0|0|4|0|10|8|2|0|0|0|0|3|-|-|2000\n");
	expect_all("SELECT * FROM parts", "");
	expect_all("SELECT * FROM memory", "50|7|1|1200|1300|70|30|2|128|64\n");
	expect_all("SELECT * FROM memory_traces", "50|1000|2000|90|40|3|256|4000|1|m.mem|-\n");
	expect_all("SELECT * FROM frame_Req", "4|1250|50|7|1|buf|11\n5|1260|50|8|-|buf|12\n");
}

static void ranges_of_time_have_their_ends(void)
{
	expect_all("SELECT ts FROM events WHERE ts > 1300 AND ts < 1450",
		   "1350\n1360\n1380\n1400\n");
	expect_all("SELECT ts FROM events WHERE ts >= 1300 AND ts <= 1450",
		   "1300\n1350\n1360\n1380\n1400\n1450\n");
	expect_all("SELECT ts FROM events WHERE ts BETWEEN 1299.5 AND 1400.5",
		   "1300\n1350\n1360\n1380\n1400\n");
	expect_all("SELECT ts FROM events WHERE ts = 1300", "1300\n");
	expect_all("SELECT ts FROM events WHERE ts < 0", "");
	expect_all("SELECT ts FROM events WHERE ts < 1101 AND ts > -5", "1100\n");
	expect_all("SELECT ts FROM events WHERE ts > 1e300", "");
	expect_all("SELECT ts FROM events WHERE ts = NULL", "");
	expect_all("SELECT ts FROM events WHERE ts < 'a' AND ts > 1500", "1550\n1600\n1610\n");
}

static void events_are_chosen_by_coroutine_site_and_kind(void)
{
	expect_all("SELECT ts FROM events WHERE probe_id = 2", "1150\n1160\n1170\n1180\n1380\n");
	expect_all("SELECT ts FROM events WHERE probe_id = 2 AND probe_id = 1", "");
	expect_all("SELECT ts FROM events WHERE probe_id = -1", "");
	expect_all("SELECT ts FROM events WHERE site = 2", "1150\n1300\n");
	expect_all("SELECT ts FROM events WHERE site = 2 AND site = 1", "");
	expect_all("SELECT ts FROM events WHERE site = 99", "");
	expect_all("SELECT ts FROM events WHERE kind = 'wake'", "1350\n1360\n");
	expect_all("SELECT ts FROM events WHERE kind = 'nothing'", "");
	expect_all("SELECT ts FROM events WHERE kind IN ('wake', 'end') ORDER BY ts",
		   "1350\n1360\n1380\n");
	expect_all("SELECT ts FROM events WHERE kind IN ('wake', 'end') AND kind = 'end'",
		   "1380\n");
	expect_all("SELECT ts FROM events WHERE kind = 7", "");
	expect_all("SELECT ts FROM events WHERE is_active = 1", "1160\n1200\n1400\n1610\n");
	expect_all("SELECT ts FROM events WHERE is_active = 0", "1300\n1450\n1500\n1550\n");
	expect_all("SELECT ts FROM events WHERE is_active = 2", "");
	expect_all("SELECT ts FROM events WHERE is_active", "1160\n1200\n1400\n1610\n");
}

static void groups_are_sorted_and_complete(void)
{
	expect_all("SELECT kind, count(*) FROM events GROUP BY kind",
		   "acquire|1\nbirth|2\ncontext|1\ndestroy|1\nend|1\nresume|4\nsuspend|4\n"
		   "wake|2\n");
	expect_all("SELECT kind, count(*), min(ts), max(ts) FROM events GROUP BY kind",
		   "acquire|1|1170|1170\nbirth|2|1100|1150\ncontext|1|1180|1180\n"
		   "destroy|1|1600|1600\nend|1|1380|1380\nresume|4|1160|1610\n"
		   "suspend|4|1300|1550\nwake|2|1350|1360\n");
	expect_all("SELECT tid, kind, count(*), sum(ts) FROM events GROUP BY tid, kind",
		   "7|birth|2|2250\n7|destroy|1|1600\n7|resume|2|2810\n7|suspend|3|4300\n"
		   "8|acquire|1|1170\n8|context|1|1180\n8|end|1|1380\n8|resume|2|2560\n"
		   "8|suspend|1|1500\n8|wake|1|1350\n9|wake|1|1360\n");
	expect_all("SELECT probe_id, count(*) FROM events GROUP BY probe_id",
		   "1|7\n2|5\n3|3\n4|1\n");
	expect_all("SELECT reason, count(*) FROM waits GROUP BY reason",
		   "-|2\nio-read|1\nmutex|1\n");
	expect_all("SELECT site, reason, sum(duration_ns), count(*) FROM waits GROUP BY 1, 2",
		   "-|-|50|2\n1|mutex|-|1\n2|io-read|100|1\n");
	expect_all("SELECT count(*) FROM events", "16\n");
}

static void intervals_are_chosen_by_both_ends(void)
{
	expect_all("SELECT from_ts, to_ts FROM waits WHERE to_ts <= 1400", "1300|1400\n");
	expect_all("SELECT from_ts, to_ts FROM waits WHERE from_ts >= 1450",
		   "1450|-\n1550|1600\n1500|-\n");
	expect_all("SELECT from_ts, to_ts FROM waits WHERE from_ts < 1450", "1300|1400\n");
	expect_all("SELECT from_ts, to_ts, woken_ts FROM waits WHERE from_ts = 1300",
		   "1300|1400|1350\n");
	expect_all("SELECT from_ts FROM waits WHERE site = 1", "1500\n");
	expect_all("SELECT from_ts FROM slices WHERE site = 1", "1400\n");
	expect_all("SELECT from_ts FROM waits WHERE probe_id = 3", "1450\n1550\n");
	expect_all("SELECT from_ts, cpu_ns, queued_ns, blocked_ns FROM slices ORDER BY 1",
		   "1160|-|-|-\n1200|-|-|-\n1400|40|20|40\n1610|-|-|-\n");
}

static void one_row_is_found_alone_and_in_a_join(void)
{
	expect_all("SELECT name FROM coroutines WHERE probe_id = 2", "kid\n");
	expect_all("SELECT e.ts, c.name FROM events e JOIN coroutines c USING (probe_id) WHERE "
		   "e.kind = 'resume' ORDER BY 1",
		   "1160|kid\n1200|root\n1400|root\n");
	expect_all("SELECT w.from_ts, s.file FROM waits w LEFT JOIN sites s ON w.site = s.site "
		   "ORDER BY 1",
		   "1300|b[1].c\n1450|-\n1500|src/a.c\n1550|-\n");
	expect_all("SELECT file FROM sites WHERE site = 2", "b[1].c\n");
	expect_all("SELECT file FROM sites WHERE site = 3", "");
	expect_all("SELECT accesses FROM memory WHERE from_ts > 1250", "");
	expect_all("SELECT accesses FROM memory WHERE from_ts > 1150", "70\n");
}

static void functions_compute_exactly(void)
{
	expect_all("SELECT median(ts), percentile(ts, 25), percentile(ts, 100), percentile(ts, 0) "
		   "FROM events",
		   "1355|1177.5|1610|1100\n");
	expect_all("SELECT percentile(column1, 50) FROM (VALUES (5),(3),(9),(1),(7),(7),(2))",
		   "5\n");
	expect_all("SELECT histogram(column1) FROM (VALUES (-3))", "[[null,0,1]]\n");
	expect_all("SELECT histogram(column1) FROM (VALUES ('a'))", "-\n");
	expect_all("SELECT median(column1) FROM (VALUES (NULL))", "-\n");
	expect_all("SELECT at('1us'), at('2ns'), at(0), at('1ms'), at('1s'), at('1m'), at('1h'), "
		   "at('-1ns'), at(NULL)",
		   "2000|1002|1000|1001000|1000001000|60000001000|3600000001000|999|-\n");
	expect_all("SELECT elapsed(1000), elapsed(2000), elapsed(1500.5), elapsed('x'), elapsed(0)",
		   "0|1e-06|5.005e-07|-|-1e-06\n");
	expect_all("SELECT site_name(1), site_name(2), site_name(3), site_name(0), site_name(-1), "
		   "site_name('1'), part_of(1), part_of(-1), part_of('x')",
		   "src/a.c:10 main|b[1].c:20 work|-|-|-|-|-|-|-\n");
	expect_all("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) "
		   "SELECT i FROM n",
		   "1\n2\n3\n");
}

static void what_reads_is_allowed(void)
{
	expect_all("PRAGMA table_info(events)",
		   "0|probe_id|INTEGER|0|-|0\n1|tid|INTEGER|0|-|0\n2|addr|TEXT|0|-|0\n"
		   "3|seq|INTEGER|0|-|0\n4|is_active|INTEGER|0|-|0\n5|ts|INTEGER|0|-|0\n"
		   "6|kind|TEXT|0|-|0\n7|station|INTEGER|0|-|0\n8|site|INTEGER|0|-|0\n"
		   "9|reason|TEXT|0|-|0\n10|resource|INTEGER|0|-|0\n11|peer|INTEGER|0|-|0\n"
		   "12|flags|TEXT|0|-|0\n13|pid|INTEGER|0|-|0\n14|name|TEXT|0|-|0\n");
	expect_all("SELECT 1; -- no more", "1\n");
	expect_all("SELECT 1;", "1\n");
}

static void what_does_not_read_is_refused(void)
{
	static const struct {
		const char *sql;
		int code, position;
		const char *text, *hint;
	} cases[] = {
		{ "SELECT percentile(ts, -1) FROM events", -EINVAL, -1,
		  "percentile(x, p): p must be a number from 0 to 100", "" },
		{ "SELECT percentile(ts, 101) FROM events", -EINVAL, -1,
		  "percentile(x, p): p must be a number from 0 to 100", "" },
		{ "SELECT percentile(ts, 'x') FROM events", -EINVAL, -1,
		  "percentile(x, p): p must be a number from 0 to 100", "" },
		{ "SELECT percentile(ts, probe_id) FROM events", -EINVAL, -1,
		  "percentile(x, p): p must be the same for all rows", "" },
		{ "SELECT median(kind) FROM events", -EINVAL, -1,
		  "percentile(), median(): the value is not a number", "" },
		{ "SELECT at('soon')", -EINVAL, -1,
		  "at(time): expected a time such as '10s', '500ms' or 1.5", "" },
		{ "SELECT at('1x')", -EINVAL, -1,
		  "at(time): expected a time such as '10s', '500ms' or 1.5", "" },
		{ "SELECT at('')", -EINVAL, -1,
		  "at(time): expected a time such as '10s', '500ms' or 1.5", "" },
		{ "SELECT at('1e40')", -EINVAL, -1,
		  "at(time): expected a time such as '10s', '500ms' or 1.5", "" },
		{ "DELETE FROM events", -EINVAL, -1, "table events may not be modified", "" },
		{ "CREATE TABLE x(a)", -EPERM, -1,
		  "a query can only read: statements that create or change something: not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "ATTACH 'x' AS y", -EPERM, -1,
		  "a query can only read: ATTACH and DETACH: not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "DETACH y", -EPERM, -1, "a query can only read: ATTACH and DETACH: not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "BEGIN", -EPERM, -1, "a query can only read: transactions: not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "SAVEPOINT a", -EPERM, -1, "a query can only read: transactions: not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "PRAGMA journal_mode", -EPERM, -1,
		  "a query can only read: PRAGMA 'journal_mode': not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "PRAGMA writable_schema=1", -EPERM, -1,
		  "a query can only read: PRAGMA 'writable_schema': not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "SELECT load_extension('x')", -EPERM, -1,
		  "a query can only read: the function 'load_extension': not allowed",
		  "write one SELECT; 'corotracer export sqlite' makes a database that can be "
		  "changed" },
		{ "SELECT readfile('x')", -EINVAL, 7, "no such function: readfile", "" },
		{ "SELECT \"events\"", -EINVAL, 7, "no such column: events",
		  "the columns are probe_id, tid, addr, seq, is_active, ts, kind, station, site, "
		  "reason, resource, peer, flags, pid, name" },
		{ "SELECT 1; SELECT 2", -EINVAL, 10, "a second statement follows the first",
		  "run one statement at a time; WITH names parts of a statement" },
		{ " ", -EINVAL, -1, "the statement is empty",
		  "for example: SELECT kind, count(*) FROM events GROUP BY kind" },
		{ "SELEC", -EINVAL, 0, "near \"SELEC\": syntax error", "" },
	};
	struct query *q = open_trace("ct");
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_error(q, cases[i].sql, cases[i].code, cases[i].position, cases[i].text,
			     cases[i].hint);
	query_close(q);
}

/* ---- errors of the statement ------------------------------------------------------------- */

static void a_wrong_name_lists_the_right_ones(void)
{
	struct query *q = open_trace("ct");

	expect_error(q, "SELECT wrong FROM events", -EINVAL, 7, "no such column: wrong",
		     "the columns are probe_id, tid, addr, seq, is_active, ts, kind, station, "
		     "site, reason, resource, peer, flags, pid, name");
	expect_error(q, "SELECT wrong FROM gaps, sites", -EINVAL, 7, "no such column: wrong",
		     "the columns are site, file, line, function; from_ts, to_ts, lane, pid, tid, "
		     "transitions, others");
	expect_error(q, "SELECT wrong", -EINVAL, 7, "no such column: wrong",
		     "the tables are events, waits, slices, coroutines, sites, switches, frames, "
		     "gaps, processes, run, totals, parts, memory, memory_traces");
	expect_error(q, "SELECT * FROM wrong", -EINVAL, -1, "no such table: wrong",
		     "the tables are events, waits, slices, coroutines, sites, switches, frames, "
		     "gaps, processes, run, totals, parts, memory, memory_traces");
	query_close(q);
}

static int refuse_row(void *to, const struct cell *cells, size_t nr, struct err *err)
{
	(void)cells;
	(void)nr;
	++*(unsigned *)to;
	return err_set(err, -ENOSPC, "full");
}

static int count_columns(void *to, const char *const *names, size_t nr, struct err *err)
{
	(void)to;
	(void)err;
	CHECK_EQ(nr, 2);
	CHECK_STR(names[0], "ts");
	CHECK_STR(names[1], "twice");
	return 0;
}

static void a_failed_output_ends_the_statement(void)
{
	struct query *q = open_trace("jsonl");
	unsigned rows = 0;
	const struct query_output output = { &rows, count_columns, refuse_row };
	struct err err = { 0 };
	int position;

	CHECK_EQ(query_run(q, "SELECT ts, 2 * ts AS twice FROM events", &output, &position, &err),
		 -ENOSPC);
	CHECK_EQ(rows, 1);
	CHECK_STR(err.text, "full");
	query_close(q);
}

/* ---- what is there ------------------------------------------------------------------------ */

static void describe_column(void *to, const char *table, const char *column, const char *type)
{
	char text[128];

	if (strcmp(table, "sites") != 0 && strcmp(table, "frame_Req") != 0)
		return;
	snprintf(text, sizeof(text), "%s.%s %s\n", table, column, type);
	result_put(to, text, strlen(text));
}

static void columns_are_described_with_their_types(void)
{
	static struct result r;
	struct query *q = open_trace("ct");

	query_describe(q, describe_column, &r);
	CHECK_STR(r.text, "sites.site INTEGER\nsites.file TEXT\nsites.line INTEGER\n"
			  "sites.function TEXT\nframe_Req.ticket ANY\nframe_Req.ts ANY\n"
			  "frame_Req.pid ANY\nframe_Req.tid ANY\nframe_Req.probe_id ANY\n"
			  "frame_Req.buffer ANY\nframe_Req.size ANY\n");
	query_close(q);
}

static void what_was_read_is_counted(void)
{
	struct query *q = open_trace("ct");
	uint64_t scans = query_stats_of(q)->scans, facts_read;

	CHECK(query_stats_of(q)->has_blocks && query_stats_of(q)->blocks);
	facts_read = query_stats_of(q)->blocks_read;
	expect(q, "SELECT count(*) FROM events WHERE reason IS NOT NULL", "3\n");
	CHECK_EQ(query_stats_of(q)->scans, scans + 1);
	CHECK(query_stats_of(q)->blocks_read > facts_read);
	CHECK(query_stats_of(q)->bytes > 0 && query_stats_of(q)->has_verdict);
	CHECK_EQ(trace_verdict(&query_stats_of(q)->trace), TRACE_COMPLETE);
	CHECK(query_stats_of(q)->trace.sidecar_path == NULL);
	query_close(q);
	q = open_trace("jsonl");
	CHECK(!query_stats_of(q)->has_blocks && !query_stats_of(q)->has_recording);
	query_close(q);
}

static void expect_no_query(const char *path, int code, const char *text, const char *hint)
{
	struct query_options options = { .trace = path };
	struct err err = { 0 };

	CHECK(query_open(&options, &err) == NULL);
	CHECK_EQ(err.code, code);
	if (!strstr(err.text, text) || !strstr(err.hint, hint)) {
		fprintf(stderr, "%s\nhint: %s\n", err.text, err.hint);
		exit(1);
	}
}

static void what_cannot_be_read_twice_or_is_no_trace_is_refused(void)
{
	expect_no_query("-", -ESPIPE, "cannot query '-': a query may read the trace several times",
			"save the trace to a file first");
	expect_no_query("/dev/null", -ESPIPE, "cannot query '/dev/null'", "to a file first");
	expect_no_query(text_path("none"), -ENOENT, "none", "");
	text_write("wrong.jsonl", "hello\nworld\n");
	expect_no_query(text_path("wrong.jsonl"), -EINVAL, "holds no events: is it a trace?",
			"line 1: ");
}

/* Without a run the time begins with the first event. */
static void a_trace_without_a_run_starts_with_its_first_event(void)
{
	unsigned i;

	text_trace("t", lines, NULL);
	remove(text_path("t.jsonl.meta"));
	convert(text_path("t.jsonl"), text_path("bare.ct"), "ct");
	CHECK(rename(text_path("bare.ct"), text_path("t.ct")) == 0);
	for (i = 0; i < 3; i += 2) {
		struct query *q = open_trace(formats[i]);

		expect(q, "SELECT at(0), elapsed(2160), run FROM events LIMIT 1", "1160|1e-06|-\n");
		expect(q, "SELECT * FROM run", "");
		query_close(q);
	}
	make_traces();
}

/* A trace that may still be written is read as far as it is there. */
static void a_trace_that_grows_is_read_so_far(void)
{
	struct query_options options = { .may_grow = true };
	struct err err = { 0 };
	struct query *q;
	char *cut = strdup(facts), path[128];

	CHECK(cut != NULL);
	*strstr(cut, "{\"type\":\"totals\"") = '\0';
	text_trace("grows", lines, cut);
	free(cut);
	snprintf(path, sizeof(path), "%s", text_path("grows.jsonl"));
	options.trace = path;
	q = query_open(&options, &err);
	CHECK(q != NULL);
	expect(q, "SELECT count(*) FROM events", "16\n");
	expect(q, "SELECT file FROM sites", "src/a.c\nb[1].c\n");
	expect(q, "SELECT ts FROM events WHERE site = 2 ORDER BY ts", "1150\n1300\n");
	expect(q, "SELECT kind, count(*) FROM events WHERE ts < 1200 GROUP BY kind",
	       "acquire|1\nbirth|2\ncontext|1\nresume|1\n");
	expect(q, "SELECT pid FROM processes", "50\n");
	expect(q, "SELECT * FROM totals", "");
	query_close(q);
}

/* ---- many --------------------------------------------------------------------------------- */

#define MANY 120u

/* Coroutine i waits i times, for i microseconds each; the trace has more than one block. */
static void make_many(void)
{
	FILE *f = fopen(text_path("t.jsonl"), "w"), *m = fopen(text_path("t.jsonl.meta"), "w");
	uint64_t ts = 1000000;
	unsigned i, k;

	CHECK(f && m);
	fprintf(m, "{\"type\":\"run\",\"format\":1,\"tool\":\"t\",\"command\":[],\"pid\":1,"
		   "\"start_ts\":1000,\"start_realtime\":5000,\"arch\":\"x\",\"stations\":0}\n");
	for (i = 1; i <= MANY; i++) {
		fprintf(m,
			"{\"type\":\"birth\",\"ts\":%llu,\"probe_id\":%u,\"tid\":7,"
			"\"name\":\"n%u\"}\n",
			(unsigned long long)ts, i, i);
		for (k = 0; k <= i; k++) {
			fprintf(f,
				"{\"probe_id\":%u,\"tid\":%u,\"addr\":\"0x0\",\"seq\":2,"
				"\"is_active\":true,\"ts\":%llu}\n",
				i, 100 + i % 70, (unsigned long long)ts + 10);
			if (k < i)
				fprintf(f,
					"{\"probe_id\":%u,\"tid\":%u,\"addr\":\"0x%x\",\"seq\":2,"
					"\"is_active\":false,\"ts\":%llu}\n",
					i, 100 + i % 70, 0x1000 + i, (unsigned long long)ts + 20);
			ts += 20 + 1000 * i;
		}
		fprintf(m, "{\"type\":\"end\",\"ts\":%llu,\"probe_id\":%u,\"tid\":7}\n",
			(unsigned long long)ts, i);
		ts += 100;
	}
	CHECK(fclose(f) == 0 && fclose(m) == 0);
}

static void check_groups(struct query *q)
{
	expect(q,
	       "SELECT probe_id, count(*), sum(duration_ns) FROM waits GROUP BY probe_id "
	       "HAVING probe_id IN (1, 65, 120)",
	       "1|1|1010\n65|65|4225650\n120|120|14401200\n");
}

static void check_many(struct query *q)
{
	expect(q,
	       "SELECT count(*), count(DISTINCT probe_id), min(duration_ns), max(duration_ns) "
	       "FROM waits",
	       "7260|120|1010|120010\n");
	check_groups(q);
	expect(q, "SELECT count(*) FROM (SELECT tid, sum(ts) FROM events GROUP BY tid)", "71\n");
	expect(q, "SELECT kind, count(*) FROM events GROUP BY kind",
	       "birth|120\nend|120\nresume|7380\nsuspend|7260\n");
	expect(q,
	       "SELECT c.name, count(*) FROM waits w JOIN coroutines c USING (probe_id) "
	       "WHERE w.probe_id IN (2, 100) GROUP BY 1 ORDER BY 2",
	       "n2|2\nn100|100\n");
	expect(q,
	       "SELECT sum(length(c.name)) FROM (SELECT DISTINCT probe_id FROM waits) w "
	       "JOIN coroutines c ON c.probe_id = w.probe_id",
	       "372\n");
	expect(q, "SELECT percentile(duration_ns, 90), median(duration_ns) FROM waits",
	       "114010|85010\n");
	/* Few are open behind the range: their ends are looked up. */
	expect(q, "SELECT probe_id, from_ts, to_ts, ended_by FROM waits WHERE from_ts < 1001100",
	       "1|1000020|1001030|resume\n");
	expect(q,
	       "SELECT probe_id, to_ts - from_ts FROM waits WHERE from_ts BETWEEN 1002100 AND "
	       "1002200",
	       "2|2010\n");
}

/* AddressSanitizer takes five times as long. */
static unsigned many_formats(void)
{
#ifdef __SANITIZE_ADDRESS__
	return getenv("COROTRACER_FULL") ? 3 : 0;
#else
	return 3;
#endif
}

static void many_rows_are_grouped_joined_and_found(void)
{
	unsigned i, nr = many_formats();

	make_many();
	convert(text_path("t.jsonl"), text_path("t.ct"), "ct");
	for (i = 0; i < nr; i += 2) {
		struct query *q = open_trace(formats[i]);

		check_many(q);
		/* The largest groups give their rows up, and are read again. */
		CHECK_EQ(setenv("COROTRACER_QUERY_MEMORY", "300", 1), 0);
		check_groups(q);
		CHECK_EQ(setenv("COROTRACER_QUERY_MEMORY", "20000", 1), 0);
		expect(q,
		       "SELECT probe_id, count(*), sum(duration_ns) FROM waits GROUP BY probe_id "
		       "ORDER BY 3 DESC LIMIT 3",
		       "120|120|14401200\n119|119|14162190\n118|118|13925180\n");
		CHECK_EQ(unsetenv("COROTRACER_QUERY_MEMORY"), 0);
		query_close(q);
	}
	make_traces();
}

/* ---- a recording of frames ------------------------------------------------------------------ */

#define FRAME_INT    "{\"tag\":\"PIntegral\",\"contents\":[\"PPInt\",null]}"
#define FRAME_MEMBER "{\"fmName\":\"a\",\"fmDifferential\":false,\"fmType\":" FRAME_INT "}"
#define FRAME_FIELD(name, offset, kind)                                                     \
	"{\"_lName\":\"" name "\",\"_lOffset\":" #offset ",\"_lSize\":4,\"_lAlignment\":4," \
	"\"_lType\":" FRAME_INT ",\"_lKind\":" kind "}"
#define FRAME_SEQ(which) "{\"tag\":\"LKSeqno\",\"contents\":\"" which "\"}"

/* One type of frames with one int. */
static const char frame_layout[] =
	"{\"abi\":\"1.0.0\",\"emit\":{\"_eBuffer\":{\"ebName\":\"B\",\"ebMinElements\":null},"
	"\"_eLanguage\":\"ELangC\",\"_eTimeRep\":{\"tag\":\"ETimeVal\"},"
	"\"_eRuntime\":{\"erMultithread\":true},\"_eTags\":[],\"_eOptions\":[]},"
	"\"target\":{\"tDouble\":8,\"tFloat\":4,\"tInt\":4,\"tTime\":16,\"tCounter\":8,"
	"\"tPadTo\":4,\"tCounterCount\":3},\"tags\":[],\"metadata\":[],\"frames\":[{\"_flName\":"
	"\"f\",\"_flFrame\":{\"_frameName\":\"f\",\"_frameElements\":[{\"tag\":\"FMemberElem\","
	"\"contents\":" FRAME_MEMBER
	"}]},\"_flLayout\":[" FRAME_FIELD("__ppt_seqno", 0, FRAME_SEQ("FrontSeq")) "," FRAME_FIELD(
		"a", 4,
		"{\"tag\":\"LKMember\",\"contents\":[" FRAME_MEMBER
		",null]}") "," FRAME_FIELD("__ppt_seqno_back", 8, FRAME_SEQ("BackSeq")) "]}]}";

static void write_recording(const char *path)
{
	struct recording_info info = { .comment = (char *)"c", .pid = 42 };
	struct recording r;
	struct desc d;
	struct err err = { 0 };
	uint32_t i;

	CHECK_EQ(desc_from_json(&d, frame_layout, strlen(frame_layout), &err), 0);
	CHECK_EQ(recording_create(&r, path, &err), 0);
	CHECK_EQ(recording_begin(&r, &d, &info, &err), 0);
	for (i = 1; i <= 4; i++) {
		uint32_t image[3] = { i, i * 7, i };

		recording_frame(&r, i, (const uint8_t *)image);
		if (i == 2)
			recording_mark(&r, RECORDING_LOSS, 3, 0, 0, 0);
	}
	recording_mark(&r, RECORDING_END, 9, 4, 3, UINT64_MAX);
	CHECK_EQ(recording_close(&r, &info, &err), 0);
	desc_release(&d);
}

static void frames_of_a_recording_are_rows(void)
{
	struct query_options options = { 0 };
	struct err err = { 0 };
	char path[128], text[200];
	struct query *q;

	snprintf(path, sizeof(path), "%s", text_path("r.ppt"));
	write_recording(path);
	options.recording = path;
	q = query_open(&options, &err);
	CHECK(q != NULL);
	expect(q, "SELECT a FROM frame_f", "7\n14\n21\n28\n");
	expect(q, "SELECT count(*), sum(a) FROM frame_f WHERE a > 7", "3|63\n");
	expect(q, "SELECT a, count(*) FROM frame_f GROUP BY a % 2 ORDER BY 1", "7|2\n14|2\n");
	CHECK(query_stats_of(q)->has_recording);
	CHECK_EQ(query_stats_of(q)->recording.frames, 4);
	CHECK_EQ(query_stats_of(q)->scans, 3);
	CHECK(query_stats_of(q)->bytes > 0);
	expect_error(q, "SELECT a FROM events", -EINVAL, -1, "no such table: events",
		     "the tables are frame_f");
	/* It is opened again for every statement. */
	CHECK_EQ(unlink(path), 0);
	snprintf(text, sizeof(text), "cannot open '%s': No such file or directory", path);
	expect_error(q, "SELECT a FROM frame_f", -EINVAL, -1, text, "");
	query_close(q);
	options.recording = text_path("none.ppt");
	CHECK(query_open(&options, &err) == NULL);
	CHECK_EQ(err.code, -ENOENT);
}

int main(void)
{
	text_make_dir();
	make_traces();
	RUN(events_and_intervals_have_all_their_fields);
	RUN(facts_have_all_their_fields);
	RUN(ranges_of_time_have_their_ends);
	RUN(events_are_chosen_by_coroutine_site_and_kind);
	RUN(groups_are_sorted_and_complete);
	RUN(intervals_are_chosen_by_both_ends);
	RUN(one_row_is_found_alone_and_in_a_join);
	RUN(functions_compute_exactly);
	RUN(what_reads_is_allowed);
	RUN(what_does_not_read_is_refused);
	RUN(a_wrong_name_lists_the_right_ones);
	RUN(a_failed_output_ends_the_statement);
	RUN(columns_are_described_with_their_types);
	RUN(what_was_read_is_counted);
	RUN(what_cannot_be_read_twice_or_is_no_trace_is_refused);
	RUN(a_trace_without_a_run_starts_with_its_first_event);
	RUN(a_trace_that_grows_is_read_so_far);
	RUN(many_rows_are_grouped_joined_and_found);
	RUN(frames_of_a_recording_are_rows);
	return 0;
}

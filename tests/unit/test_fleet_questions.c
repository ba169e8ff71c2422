/* SPDX-License-Identifier: MIT */
/*
 * test_fleet_questions.c - questions over all hosts: which SQL is sent, what is chosen for the
 * user, and what is said when there is no answer.  The server is the test's.
 */
#include "fleet/fleet_ask.h"

#include <errno.h>
#include <time.h>

#include "check.h"
#include "count_memory.h"

#define NOW 1700000000u

static struct {
	const char *tables, *known, *runs, *rows, *account; /* answers; NULL: a failure */
	char sql[8][8192];
	unsigned nr;
} server;

time_t __wrap_time(time_t *out);
time_t __wrap_time(time_t *out)
{
	if (out)
		*out = NOW;
	return NOW;
}

static int query(void *arg, const char *sql, struct bytes *answer, struct err *err)
{
	const char *text = strstr(sql, "FROM system.tables")              ? server.tables
			   : strstr(sql, "-- What there is")              ? server.known
			   : strstr(sql, "-- The runs that have the")     ? server.runs
			   : strstr(sql, "-- The runs that an answer is") ? server.account
									  : server.rows;

	CHECK(arg == &server);
	CHECK(server.nr < 8);
	snprintf(server.sql[server.nr++], sizeof(server.sql[0]), "%s", sql);
	if (!text)
		return err_set(err, -EIO, "the server does not answer");
	bytes_add_text(answer, text);
	return 0;
}

static struct fleet_ask ask;

static void ask_about(const char *question)
{
	memset(&ask, 0, sizeof(ask));
	memset(&server, 0, sizeof(server));
	ask.question = fleet_question_find(question);
	CHECK(ask.question != NULL);
	ask.since = NOW - 3600;
	ask.until = NOW + 100;
	ask.limit = 20;
	server.tables = "one\tclustered\nUInt64\tUInt64\n1\t0\n";
	server.known =
		"service\tbuilds\tversions\tnames\tlast_s\tfirst\tlast\n"
		"String\tArray(String)\tArray(String)\tArray(String)\tInt64\tString\tString\n"
		"shop\t['abc123','def456']\t['v2','']\t['v2','v2','def456']\t1699999000\t"
		"2023-11-01\t2023-11-14\n";
	server.runs = "run_id\tservice_name\thost_name\nString\tString\tString\nr1\tshop\th1\n";
	server.rows = "a\nString\nx\n";
	server.account = "b\nString\ny\nz\n";
}

static int begin(size_t shards, struct err *err)
{
	*err = (struct err){ 0 };
	return fleet_ask_begin(&ask, shards, query, &server, err);
}

static const char *sql(void)
{
	static struct bytes out;
	struct err err = { 0 };

	bytes_clear(&out);
	CHECK_EQ(fleet_ask_sql(&ask, &out, &err), 0);
	bytes_add(&out, "", 1);
	return (const char *)out.data;
}

/* ---- SQL ------------------------------------------------------------------------------- */

static void questions_are_found_by_name(void)
{
	const struct fleet_question *q;
	size_t nr = 0;

	for (q = fleet_questions; q->name; q++, nr++) {
		CHECK(fleet_question_find(q->name) == q);
		CHECK(q->file || q->raw_file);
		CHECK(q->summary && q->summary[0]);
	}
	CHECK_EQ(nr, 7);
	CHECK(!fleet_question_find("nothing"));
	CHECK_EQ(fleet_question_find("slowest")->since, 3600);
	CHECK_EQ(fleet_question_find("lost")->since, 86400);
	CHECK_EQ(fleet_question_find("findings")->since, 7 * 86400);
	CHECK_EQ(fleet_question_find("coroutine")->since, 0);
}

static void single_waits_are_read_where_only_they_have_the_answer(void)
{
	ask_about("slowest");
	CHECK(!fleet_ask_is_raw(&ask));
	CHECK(strstr(sql(), "waits_10s") != NULL);
	ask.host = "";
	CHECK(!fleet_ask_is_raw(&ask));
	ask.host = "h1";
	CHECK(fleet_ask_is_raw(&ask)); /* aggregates have no host */
	CHECK(strstr(sql(), "'h1'") != NULL);
	CHECK(!strstr(sql(), "waits_10s"));
	ask.host = NULL;
	ask.raw = true;
	CHECK(fleet_ask_is_raw(&ask));
	ask_about("lost");
	CHECK(fleet_ask_is_raw(&ask));
	ask_about("findings");
	ask.raw = true;
	CHECK(!fleet_ask_is_raw(&ask)); /* it has no other */
}

static void parameters_are_filled_in(void)
{
	ask_about("latency");
	ask.service = "sh'op";
	ask.build = "v2";
	ask.site = "db.c:7";
	ask.step = 17;
	CHECK(strstr(sql(), "ts >= toInt64(1699996400) * 1000000000 AND ts < toInt64(1700000100)"));
	CHECK(strstr(sql(), "LIMIT 20"));
	CHECK(strstr(sql(), "'sh\\'op'") != NULL);
	CHECK(strstr(sql(), "version = 'v2'") != NULL);
	CHECK(strstr(sql(), "'db.c:7'") != NULL);
	CHECK(strstr(sql(), "1000000000 * 17)") != NULL);
	CHECK(strstr(sql(), "FROM `waits_10s`") != NULL);
	CHECK(strstr(sql(), "FROM `sites`") != NULL);
	ask.is_clustered = true;
	CHECK(strstr(sql(), "FROM `waits_10s_all`") != NULL);
	CHECK(strstr(sql(), "FROM `sites_all`") != NULL);
	ask_about("coroutine");
	ask.coroutine = UINT64_C(12345678901234567890);
	ask.run = "r7";
	CHECK(strstr(sql(), "12345678901234567890") != NULL);
	CHECK(strstr(sql(), "'r7'") != NULL);
}

/* The length in "1000000000 * 10)". */
static unsigned step_of(uint32_t since, uint32_t until)
{
	const char *at;

	ask.since = since;
	ask.until = until;
	at = strstr(sql(), "1000000000 * ");
	CHECK(at != NULL);
	return (unsigned)strtoul(at + 13, NULL, 10);
}

static void steps_are_round(void)
{
	ask_about("latency");
	CHECK_EQ(step_of(NOW - 60, NOW), 10);
	CHECK_EQ(step_of(NOW - 329, NOW), 10);
	CHECK_EQ(step_of(NOW - 330, NOW), 20); /* more than 30 of 10 s */
	CHECK_EQ(step_of(NOW - 3600, NOW), 120);
	CHECK_EQ(step_of(NOW - 86400, NOW), 3600);
	CHECK_EQ(step_of(0, NOW), 86400);                /* the longest */
	CHECK_EQ(step_of(NOW - 60, NOW + 86400), 10);    /* not the future */
	CHECK_EQ(step_of(NOW - 86460, NOW - 86400), 10); /* a time before */
	CHECK_EQ(step_of(NOW, NOW - 60), 10);
	ask.step = 7;
	CHECK_EQ(step_of(0, NOW), 7);
}

/* ---- asking ---------------------------------------------------------------------------- */

static void an_answer_has_rows_and_an_account(void)
{
	struct fleet_answer answer;
	struct err err = { 0 };

	ask_about("slowest");
	CHECK_EQ(fleet_ask_run(&ask, query, &server, &answer, &err), 0);
	CHECK(!answer.is_raw);
	CHECK_EQ(server.nr, 2);
	CHECK_EQ(answer.rows.nr_rows, 1);
	CHECK_EQ(answer.account.nr_rows, 2);
	CHECK(strstr(server.sql[0], "\nSETTINGS skip_unavailable_shards = 0\n"
				    "FORMAT TabSeparatedWithNamesAndTypes\n") != NULL);
	fleet_answer_release(&answer);
	ask.raw = true;
	server.nr = 0;
	CHECK_EQ(fleet_ask_run(&ask, query, &server, &answer, &err), 0);
	CHECK(answer.is_raw);
	fleet_answer_release(&answer);
	server.rows = NULL;
	server.nr = 0;
	CHECK_EQ(fleet_ask_run(&ask, query, &server, &answer, &err), -EIO);
	CHECK_EQ(server.nr, 1);
	fleet_answer_release(&answer);
	server.rows = "not a table";
	server.nr = 0;
	err = (struct err){ 0 };
	CHECK_EQ(fleet_ask_run(&ask, query, &server, &answer, &err), -EBADMSG);
	fleet_answer_release(&answer);
}

static void the_tables_are_looked_for_first(void)
{
	struct err err;

	ask_about("slowest");
	CHECK_EQ(begin(1, &err), 0);
	CHECK(!ask.is_clustered);
	CHECK_EQ(server.nr, 1);
	CHECK_EQ(begin(2, &err), -EINVAL);
	CHECK_STR(err.text, "cannot ask 2 shards: the store has no Distributed tables");
	CHECK(strstr(err.hint, "?cluster=NAME") != NULL);
	server.tables = "one\tclustered\nUInt64\tUInt64\n1\t1\n";
	CHECK_EQ(begin(2, &err), 0);
	CHECK(ask.is_clustered);
	server.tables = "one\tclustered\nUInt64\tUInt64\n0\t1\n";
	CHECK_EQ(begin(1, &err), 0);
	server.tables = "one\tclustered\nUInt64\tUInt64\n0\t0\n";
	CHECK_EQ(begin(1, &err), -ENODATA);
	CHECK_STR(err.text, "no data: the database has no tables of corotracer");
	CHECK(strstr(err.hint, "corotracer load --into URL") != NULL);
	CHECK(!ask.is_clustered);
	server.tables = NULL;
	CHECK_EQ(begin(1, &err), -EIO);
}

/* ---- builds ---------------------------------------------------------------------------- */

static void the_two_newest_builds_are_compared(void)
{
	struct err err;

	ask_about("compare");
	CHECK_EQ(begin(1, &err), 0);
	CHECK_STR(ask.build, "v2");    /* the newest */
	CHECK_STR(ask.base, "def456"); /* with another label */
	CHECK_EQ(server.nr, 2);
	ask_about("compare");
	ask.base = "b";
	ask.build = "a";
	CHECK_EQ(begin(1, &err), 0);
	CHECK_EQ(server.nr, 1); /* the user has chosen */
	CHECK_STR(ask.base, "b");
	ask_about("compare");
	ask.service = "none";
	CHECK_EQ(begin(1, &err), -ENODATA);
	CHECK_STR(err.text, "no data: there is no service 'none'");
	CHECK_STR(err.hint, "services known: shop");
	ask_about("compare");
	server.known = "service\tnames\nString\tArray(String)\na\t['1','2']\nb\t['3']\n";
	CHECK_EQ(begin(1, &err), -EINVAL);
	CHECK_STR(err.text, "cannot choose two builds: there are 2 services");
	CHECK(strstr(err.hint, "add --service NAME") != NULL);
	ask.service = "b";
	CHECK_EQ(begin(1, &err), -ENODATA);
	CHECK_STR(err.text, "no data to compare: 'b' has only one build, 3");
	ask.service = "a";
	CHECK_EQ(begin(1, &err), 0);
	CHECK_STR(ask.build, "1");
	CHECK_STR(ask.base, "2");
	ask_about("compare");
	server.known = "service\tnames\nString\tArray(String)\n";
	CHECK_EQ(begin(1, &err), -ENODATA);
	CHECK_STR(err.text, "no data: no run is loaded yet");
	server.known = NULL;
	CHECK_EQ(begin(1, &err), -EIO);
}

/* ---- runs ------------------------------------------------------------------------------ */

static void a_coroutine_is_one_of_a_run(void)
{
	static char many[8192];
	struct err err;
	size_t used;
	unsigned i;

	ask_about("coroutine");
	ask.coroutine = 17;
	CHECK_EQ(begin(1, &err), 0);
	CHECK_STR(ask.run, "r1");
	ask_about("coroutine");
	server.runs = "run_id\tservice_name\thost_name\nString\tString\tString\n";
	CHECK_EQ(begin(1, &err), 0);
	CHECK(!ask.run); /* there is no answer */
	ask_about("coroutine");
	ask.coroutine = 17;
	server.runs = "run_id\tservice_name\thost_name\nString\tString\tString\n"
		      "0123456789abcdef\tshop\th1\nr2\tshop\th2\n";
	CHECK_EQ(begin(1, &err), -EINVAL);
	CHECK_STR(err.text, "coroutine 17 is in 2 runs");
	CHECK_STR(err.hint, "choose one with --run or --host: 0123456789ab (shop, h1), "
			    "r2 (shop, h2)");
	used = (size_t)snprintf(many, sizeof(many),
				"run_id\tservice_name\thost_name\nString\tString\tString\n");
	for (i = 0; i < 100; i++)
		used += (size_t)snprintf(many + used, sizeof(many) - used, "r%u\ts\th\n", i);
	server.runs = many;
	CHECK_EQ(begin(1, &err), -EINVAL);
	CHECK_STR(err.text, "coroutine 17 is in 100 or more runs");
	CHECK_STR(err.hint, "choose one with --run or --host: r0 (s, h), r1 (s, h), r2 (s, h), "
			    "r3 (s, h), r4 (s, h), ...");
	server.runs = NULL;
	CHECK_EQ(begin(1, &err), -EIO);
}

/* ---- no answer -------------------------------------------------------------------------- */

static int explain(struct err *err)
{
	*err = (struct err){ 0 };
	return fleet_ask_explain(&ask, query, &server, err);
}

static void an_empty_answer_is_explained(void)
{
	struct err err;

	ask_about("slowest");
	CHECK_EQ(explain(&err), 0); /* it is the answer */
	ask.service = "shop";
	CHECK_EQ(explain(&err), 0);
	ask.service = "none";
	CHECK_EQ(explain(&err), -ENODATA);
	CHECK_STR(err.text, "no data: there is no service 'none'");
	ask.service = NULL;
	ask.build = "def"; /* the beginning of a build */
	CHECK_EQ(explain(&err), 0);
	ask.build = "v2";
	CHECK_EQ(explain(&err), 0);
	server.nr = 0;
	ask.build = "v"; /* versions are whole */
	CHECK_EQ(explain(&err), -ENODATA);
	CHECK_STR(err.text, "no data: there is no build or version 'v'");
	CHECK_STR(err.hint, "builds known, newest first: abc123, def456");
	ask.build = NULL;
	ask.base = "v3";
	CHECK_EQ(explain(&err), -ENODATA);
	CHECK_STR(err.text, "no data: there is no build or version 'v3'");
	ask.base = NULL;
	ask.since = 1699999000;
	CHECK_EQ(explain(&err), 0);
	ask.since++;
	CHECK_EQ(explain(&err), -ENODATA);
	CHECK_STR(err.text, "no data in this time: the newest of 'shop' is of 2023-11-14 UTC");
	CHECK_STR(err.hint, "choose an earlier time: --since '2023-11-01'");
	server.nr = 0;
	server.known = NULL;
	CHECK_EQ(explain(&err), -EIO);
}

static void ask_all(void)
{
	the_two_newest_builds_are_compared();
	a_coroutine_is_one_of_a_run();
	an_empty_answer_is_explained();
	an_answer_has_rows_and_an_account();
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(ask_all);
}

int main(void)
{
	RUN(questions_are_found_by_name);
	RUN(single_waits_are_read_where_only_they_have_the_answer);
	RUN(parameters_are_filled_in);
	RUN(steps_are_round);
	RUN(an_answer_has_rows_and_an_account);
	RUN(the_tables_are_looked_for_first);
	RUN(the_two_newest_builds_are_compared);
	RUN(a_coroutine_is_one_of_a_run);
	RUN(an_empty_answer_is_explained);
	RUN(nothing_is_kept);
	return 0;
}

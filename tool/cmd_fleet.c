/* SPDX-License-Identifier: MIT */
/* cmd_fleet.c - corotracer fleet: questions over all hosts, to a ClickHouse store. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/nearest_word.h"
#include "base/number.h"
#include "cmd.h"
#include "fleet/clickhouse_client.h"
#include "fleet/fleet_ask.h"
#include "findings_job.h"
#include "fleet/fleet_ask_sql.h"
#include "fleet_print.h"

struct fleet_request {
	const char *from, *write_sql;
	struct fleet_ask ask;
	bool has_since, json, print_sql;
};

/* ---- times ---------------------------------------------------------------------- */

/* "90s", "30m", "1h", "7d" in seconds; 0: not of this form. */
static uint64_t fleet_parse_span(const char *text)
{
	static const struct {
		char unit;
		uint32_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 }, { 'w', 604800 } };
	char *end;
	unsigned long value = strtoul(text, &end, 10);
	size_t i;

	for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (*text >= '0' && *text <= '9' && *end == units[i].unit && !end[1] &&
		    value <= 1000000)
			return value * units[i].seconds;
	}
	return 0;
}

/* A time in UTC; false: not of this form. */
static bool fleet_parse_date(const char *text, uint32_t *out)
{
	static const char *const forms[] = { "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S",
					     "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M", "%Y-%m-%d" };
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, forms[i], &tm);
		time_t when;

		if (!end || (*end && strcmp(end, "Z") != 0))
			continue;
		when = timegm(&tm);
		if (when < 0 || when > UINT32_MAX)
			return false;
		*out = (uint32_t)when;
		return true;
	}
	return false;
}

static bool fleet_parse_time(void *field, const struct opt_use *use)
{
	uint32_t now = (uint32_t)time(NULL), *out = field;
	uint64_t span = fleet_parse_span(use->value);

	if (span) {
		*out = span < now ? now - (uint32_t)span : 0;
		return true;
	}
	return fleet_parse_date(use->value, out) ||
	       opt_invalid(use, "30m, 6h, 7d or '2026-01-31 12:00' (UTC)");
}

static const struct opt options[] = {
	{ 0, "from", "URL", "clickhouse://host/database (default: COROTRACER_FLEET)",
	  OPT_NAME(struct fleet_request, from) },
	{ 's', "service", "NAME", "only this service",
	  OPT_NAME(struct fleet_request, ask.service) },
	{ 'b', "build", "BUILD", "only this version, or build-id (its beginning)",
	  OPT_NAME(struct fleet_request, ask.build) },
	{ 0, "site", "TEXT", "only sites with this in file:line or function",
	  OPT_NAME(struct fleet_request, ask.site) },
	{ 0, "since", "TIME", "6h, 7d or '2026-01-31 12:00' (UTC)",
	  OPT_CALL(struct fleet_request, ask.since, fleet_parse_time),
	  OPT_GIVEN(struct fleet_request, has_since) },
	{ 'n', "limit", "N", "rows (20)", OPT_NUMBER(struct fleet_request, ask.limit, 1, 100000) },
	{ 0, "raw", NULL, "from single waits, not sums of 10 s",
	  OPT_FLAG(struct fleet_request, ask.raw) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct fleet_request, json) },
	{ 0, "print-sql", NULL, "print the SQL and ask nothing",
	  OPT_FLAG(struct fleet_request, print_sql) },
	{ 0, "sql-dir", "DIR", "use the SQL files in DIR, see --write-sql",
	  OPT_NAME(struct fleet_request, ask.sql_dir) },
	{ .name = "write-sql",
	  .arg = "DIR",
	  .help = "write the SQL files of all questions",
	  .is_rare = true,
	  OPT_NAME(struct fleet_request, write_sql) },
	{ .name = "until",
	  .arg = "TIME",
	  .help = "as --since",
	  .is_rare = true,
	  OPT_CALL(struct fleet_request, ask.until, fleet_parse_time) },
	{ .name = "host",
	  .arg = "NAME",
	  .help = "only this host; reads single waits",
	  .is_rare = true,
	  OPT_NAME(struct fleet_request, ask.host) },
	{ .name = "run",
	  .arg = "ID",
	  .help = "of a coroutine: only this run",
	  .is_rare = true,
	  OPT_NAME(struct fleet_request, ask.run) },
	{ .name = "step",
	  .arg = "SECONDS",
	  .help = "of latency and compare: length of an interval",
	  .is_rare = true,
	  OPT_NUMBER(struct fleet_request, ask.step, 1, 31622400) },
	{ .name = NULL },
};

/* ---- the question ----------------------------------------------------------------- */

static int fleet_unknown_question(const char *word)
{
	const struct fleet_question *q;
	struct nearest_word near;

	nearest_word_begin(&near, word, strlen(word));
	for (q = fleet_questions; q->name; q++)
		nearest_word_offer(&near, q->name);
	message_print("fleet", "unknown question '%s'", word);
	if (near.best)
		fprintf(stderr, "hint: did you mean '%s'?\n", near.best);
	else
		fputs("hint: 'corotracer help fleet' lists the questions\n", stderr);
	return EXIT_USAGE;
}

/* The operands after the question.  Returns OPTS_PARSED or an exit status after a message. */
static int fleet_take_operands(struct fleet_request *r, int argc, char **argv, int first)
{
	const char *name = r->ask.question->name;
	unsigned long long number;

	if (!strcmp(name, "compare") && argc - first >= 2) {
		r->ask.base = argv[first++];
		r->ask.build = argv[first++];
	} else if (!strcmp(name, "compare") && r->ask.build) {
		message_print("fleet", "compare needs two builds");
		fputs("hint: fleet compare BASE HEAD; without both, the two newest\n", stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(name, "coroutine")) {
		if (first == argc)
			return opts_missing(&command_fleet, "COROUTINE");
		if (!opt_number("fleet", "coroutine", argv[first++], 0, UINT64_MAX, &number))
			return EXIT_USAGE;
		r->ask.coroutine = number;
	}
	return first < argc ? opts_unexpected(&command_fleet, argv[first]) : OPTS_PARSED;
}

static int fleet_print_sql(const struct fleet_request *r)
{
	struct bytes sql = { 0 };
	struct err err = { 0 };
	int rc = fleet_ask_sql(&r->ask, &sql, &err);

	if (rc)
		message_error("fleet", &err);
	else
		fwrite(sql.data, 1, sql.size, stdout);
	bytes_release(&sql);
	return rc ? EXIT_FAILED : EXIT_OK;
}

/* ---- the server ------------------------------------------------------------------- */

static int fleet_query(void *server, const char *sql, struct bytes *answer, struct err *err)
{
	struct clickhouse *c = server;
	int rc = clickhouse_ask(c, 0, sql, answer, err);

	if (rc && (c->code == 279 || c->code == 210 || c->code == 209))
		err_hint(err, "a shard does not answer: without it the answer would not be whole");
	return rc;
}

static int fleet_ask_server(struct fleet_request *r, struct clickhouse *server, struct err *err)
{
	struct fleet_answer answer = { 0 };
	int rc = fleet_ask_begin(&r->ask, clickhouse_shards(server), fleet_query, server, err);

	if (!rc)
		rc = fleet_ask_run(&r->ask, fleet_query, server, &answer, err);
	if (!rc && !answer.rows.nr_rows)
		rc = fleet_ask_explain(&r->ask, fleet_query, server, err);
	if (!rc) {
		rc = r->json ? fleet_print_json(&r->ask, &answer, stdout)
			     : fleet_print_text(&r->ask, &answer, stdout);
		if (rc)
			err_set(err, rc, "cannot write to 'standard output': %s", strerror(-rc));
	}
	fleet_answer_release(&answer);
	return rc;
}

/* NULL after an error message. */
static const char *fleet_url(const struct fleet_request *r)
{
	const char *url = r->from ? r->from : getenv("COROTRACER_FLEET");

	if (url && *url)
		return url;
	message_print("fleet", "--from URL is required");
	fputs("hint: --from clickhouse://host/corotracer, or set COROTRACER_FLEET\n", stderr);
	return NULL;
}

static int fleet_start(struct fleet_request *r)
{
	const char *url = fleet_url(r);
	struct clickhouse *server;
	struct err err = { 0 };
	int rc;

	if (!url)
		return EXIT_USAGE;
	server = clickhouse_open(url, &err);
	rc = server ? fleet_ask_server(r, server, &err) : err.code;
	if (rc)
		message_error("fleet", &err);
	clickhouse_close(server);
	return rc ? EXIT_FAILED : EXIT_OK;
}

/* fleet add-findings TRACE...: of runs that were shipped, and whose trace is here. */
static int fleet_add_findings(const struct fleet_request *r, int argc, char **argv, int first)
{
	struct findings_job job = { .command = "fleet", .url = fleet_url(r) };
	int status = EXIT_OK;

	if (!job.url)
		return EXIT_USAGE;
	if (first == argc)
		return opts_missing(&command_fleet, "TRACE");
	for (; first < argc; first++) {
		struct err err = { 0 };

		job.trace = argv[first];
		if (findings_job_labels(&job, &err) < 0) {
			message_error("fleet", &err);
			status = EXIT_FAILED;
		} else if (findings_job_start(&job) != EXIT_OK) {
			status = EXIT_FAILED;
		}
	}
	return status;
}

static int fleet_write_sql(const struct fleet_request *r)
{
	struct err err = { 0 };

	if (ask_sql_save(r->write_sql, &err) == 0)
		return EXIT_OK;
	message_error("fleet", &err);
	return EXIT_FAILED;
}

static int run_fleet(int argc, char **argv)
{
	struct fleet_request r = { .ask = { .limit = 20, .until = UINT32_MAX } };
	int first, status = opts_parse(&command_fleet, &r, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (r.write_sql)
		return fleet_write_sql(&r);
	if (first == argc)
		return opts_missing(&command_fleet, "QUESTION");
	if (!strcmp(argv[first], "add-findings"))
		return fleet_add_findings(&r, argc, argv, first + 1);
	r.ask.question = fleet_question_find(argv[first]);
	if (!r.ask.question)
		return fleet_unknown_question(argv[first]);
	status = fleet_take_operands(&r, argc, argv, first + 1);
	if (status != OPTS_PARSED)
		return status;
	if (!r.has_since && r.ask.question->since)
		r.ask.since = (uint32_t)time(NULL) - r.ask.question->since;
	return r.print_sql ? fleet_print_sql(&r) : fleet_start(&r);
}

const struct command command_fleet = {
	.name = "fleet",
	.instrument = "many machines",
	.args = "QUESTION [BASE HEAD | COROUTINE]",
	.summary = "ask about all hosts: a ClickHouse store that 'load' or 'run --ship' fills",
	.details = "slowest     sites by the time that coroutines wait there\n"
		   "lost        waits that never ended, by site\n"
		   "latency     from wake to resume, over time and by build\n"
		   "graph       which site wakes which: who waits for whom\n"
		   "compare     two builds site by site (default: the two newest)\n"
		   "coroutine   the waits of one coroutine\n"
		   "findings    what the reports found, each problem once\n"
		   "Exit status: 0 answered; 1 failed, or no data; 2 usage.\n",
	.opts = options,
	.run = run_fleet,
};

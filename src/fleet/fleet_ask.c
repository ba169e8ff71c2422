/* SPDX-License-Identifier: MIT */
/* fleet_ask.c - the questions that are asked over all hosts: SQL files, parameters, answers. */
#include "fleet/fleet_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet_ask_sql.h"

#define HOUR 3600
#define DAY  (24 * HOUR)

const struct fleet_question fleet_questions[] = {
	{ "slowest", "sites by the time that coroutines wait there", "ask_slowest.sql",
	  "ask_slowest_raw.sql", NULL, HOUR },
	{ "lost", "waits that never ended, by site, over all hosts", NULL, "ask_lost_raw.sql",
	  "every wait ended", DAY },
	{ "latency", "time from wake to resume over time, by build", "ask_latency.sql",
	  "ask_latency_raw.sql", NULL, HOUR },
	{ "graph", "which site wakes which: who waits for whom", NULL, "ask_graph_raw.sql", NULL,
	  HOUR },
	{ "compare", "two builds, site by site", "ask_compare.sql", "ask_compare_raw.sql", NULL,
	  DAY },
	{ "coroutine", "the waits of one coroutine", NULL, "ask_coroutine_raw.sql", NULL, 0 },
	{ "findings", "findings of all reports, each one once", "ask_findings.sql", NULL,
	  "no report with a finding is stored; docs/fleet.md says which runs have reports",
	  7 * DAY },
	{ .name = NULL },
};

const struct fleet_question *fleet_question_find(const char *name)
{
	const struct fleet_question *q = fleet_questions;

	while (q->name && strcmp(q->name, name) != 0)
		q++;
	return q->name ? q : NULL;
}

/* ---- parameters ----------------------------------------------------------------- */

#define NR_ASK_NUMBERS 5
#define NR_ASK_TABLES  5
#define NR_ASK_PARAMS  (6 + NR_ASK_NUMBERS + NR_ASK_TABLES)

struct ask_params {
	struct ask_param list[NR_ASK_PARAMS];
	char numbers[NR_ASK_NUMBERS][24];
	char tables[NR_ASK_TABLES][24];
};

/*
 * A round length for about thirty steps.  A comparison takes shorter ones, because a build may have
 * run for a small part of the time and needs several.
 */
static uint32_t ask_step(const struct fleet_ask *ask)
{
	static const uint32_t lengths[] = { 10,   20,   30,   60,    120,   300, 600,
					    1800, 3600, 7200, 14400, 43200, DAY };
	uint32_t now = (uint32_t)time(NULL), until = ask->until < now ? ask->until : now;
	uint32_t span = until > ask->since ? until - ask->since : 0;
	uint32_t most = !strcmp(ask->question->name, "compare") ? 1500 : 30;
	size_t i = 0;

	if (ask->step)
		return ask->step;
	while (i + 1 < sizeof(lengths) / sizeof(lengths[0]) && lengths[i] < span / most)
		i++;
	return lengths[i];
}

static void ask_fill_params(struct ask_params *p, const struct fleet_ask *ask)
{
	static const char *const tables[] = { "waits", "waits_10s", "sites", "runs", "findings" };
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = { { "since", ask->since },
			{ "until", ask->until },
			{ "step", ask_step(ask) },
			{ "limit", ask->limit },
			{ "coroutine", ask->coroutine } };
	const struct ask_param texts[] = { { "service", ask->service }, { "build", ask->build },
					   { "base", ask->base },       { "site", ask->site },
					   { "host", ask->host },       { "run", ask->run } };
	size_t nr = 0, i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		p->list[nr] = texts[i];
		if (!p->list[nr].value)
			p->list[nr].value = "";
		nr++;
	}
	for (i = 0; i < NR_ASK_NUMBERS; i++) {
		snprintf(p->numbers[i], sizeof(p->numbers[i]), "%" PRIu64, numbers[i].value);
		p->list[nr++] = (struct ask_param){ numbers[i].name, p->numbers[i] };
	}
	for (i = 0; i < NR_ASK_TABLES; i++) {
		snprintf(p->tables[i], sizeof(p->tables[i]), "%s%s", tables[i],
			 ask->is_clustered ? "_all" : "");
		p->list[nr++] = (struct ask_param){ tables[i], p->tables[i] };
	}
}

static int ask_fill_file(const struct fleet_ask *ask, const char *file, struct bytes *out,
			 struct err *err)
{
	struct ask_params params;
	struct bytes text = { 0 };
	int rc = ask_sql_read(&text, ask->sql_dir, file, err);

	ask_fill_params(&params, ask);
	if (!rc)
		rc = ask_sql_fill(out, file, (const char *)text.data, params.list, NR_ASK_PARAMS,
				  err);
	bytes_release(&text);
	return rc;
}

bool fleet_ask_is_raw(const struct fleet_ask *ask)
{
	const struct fleet_question *q = ask->question;

	return q->raw_file && (ask->raw || !q->file || (ask->host && *ask->host));
}

int fleet_ask_sql(const struct fleet_ask *ask, struct bytes *out, struct err *err)
{
	const struct fleet_question *q = ask->question;

	return ask_fill_file(ask, fleet_ask_is_raw(ask) ? q->raw_file : q->file, out, err);
}

/* ---- asking --------------------------------------------------------------------- */

/* A shard that does not answer is an error, whatever the server's own settings are. */
static const char ask_end[] = "\nSETTINGS skip_unavailable_shards = 0\n"
			      "FORMAT TabSeparatedWithNamesAndTypes\n";

static int ask_send(struct bytes *sql, fleet_query_fn query, void *server, struct ask_table *table,
		    struct err *err)
{
	struct bytes answer = { 0 };
	int rc;

	bytes_add(sql, ask_end, sizeof(ask_end)); /* with its zero byte */
	if (sql->error)
		return err_set(err, -ENOMEM, "no memory for the SQL");
	rc = query(server, (const char *)sql->data, &answer, err);
	if (!rc)
		rc = ask_table_parse(table, (const char *)answer.data, answer.size, err);
	bytes_release(&answer);
	return rc;
}

static int ask_file(const struct fleet_ask *ask, const char *file, fleet_query_fn query,
		    void *server, struct ask_table *table, struct err *err)
{
	struct bytes sql = { 0 };
	int rc = ask_fill_file(ask, file, &sql, err);

	if (!rc)
		rc = ask_send(&sql, query, server, table, err);
	bytes_release(&sql);
	return rc;
}

int fleet_ask_run(const struct fleet_ask *ask, fleet_query_fn query, void *server,
		  struct fleet_answer *answer, struct err *err)
{
	const struct fleet_question *q = ask->question;
	int rc;

	*answer = (struct fleet_answer){ .is_raw = fleet_ask_is_raw(ask) };
	rc = ask_file(ask, answer->is_raw ? q->raw_file : q->file, query, server, &answer->rows,
		      err);
	if (!rc)
		rc = ask_file(ask, "ask_account.sql", query, server, &answer->account, err);
	return rc;
}

void fleet_answer_release(struct fleet_answer *answer)
{
	ask_table_release(&answer->rows);
	ask_table_release(&answer->account);
}

/* ---- what there is ---------------------------------------------------------------- */

static int ask_tables(struct fleet_ask *ask, size_t shards, fleet_query_fn query, void *server,
		      struct err *err)
{
	static const char text[] =
		"SELECT sum(name = 'waits') AS one, sum(name = 'waits_all') AS clustered\n"
		"FROM system.tables WHERE database = currentDatabase()";
	struct ask_table table = { 0 };
	struct bytes sql = { 0 };
	int rc;

	bytes_add_text(&sql, text);
	rc = ask_send(&sql, query, server, &table, err);
	bytes_release(&sql);
	if (!rc && !ask_table_number(&table, 0, "one") &&
	    !ask_table_number(&table, 0, "clustered")) {
		rc = err_set(err, -ENODATA, "no data: the database has no tables of corotracer");
		err_hint(err, "'corotracer load --into URL' and 'corotracer run --ship URL' create "
			      "them");
	}
	ask->is_clustered = !rc && ask_table_number(&table, 0, "clustered");
	ask_table_release(&table);
	if (!rc && shards > 1 && !ask->is_clustered) {
		rc = err_set(err, -EINVAL,
			     "cannot ask %zu shards: the store has no Distributed tables", shards);
		err_hint(err, "load once with ?cluster=NAME in the address: it creates them");
	}
	return rc;
}

/* A user may change the SQL, and leave out a column. */
static const char *ask_text(const struct ask_table *t, size_t row, const char *name)
{
	const char *text = ask_table_cell(t, row, name);

	return text ? text : "";
}

/* The list of a row as "a, b, c". */
static void ask_join_list(const char *list, char *buf, size_t size)
{
	char one[256];
	size_t used = 0;

	buf[0] = '\0';
	while (list && (list = ask_table_element(list, one, sizeof(one))) != NULL) {
		int n = snprintf(buf + used, size - used, "%s%s", used ? ", " : "", one);

		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

static int ask_no_service(const struct fleet_ask *ask, const struct ask_table *known,
			  struct err *err)
{
	char names[400] = "";
	size_t i, used = 0;

	for (i = 0; i < known->nr_rows; i++) {
		int n = snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
				 ask_text(known, i, "service"));

		if (n < 0 || (size_t)n >= sizeof(names) - used)
			break;
		used += (size_t)n;
	}
	if (!known->nr_rows)
		return err_set(err, -ENODATA, "no data: no run is loaded yet");
	err_set(err, -ENODATA, "no data: there is no service '%s'", ask->service);
	err_hint(err, "services known: %s", names);
	return err->code;
}

/* The row of the chosen service; nr_rows: there is none. */
static size_t ask_service_row(const struct fleet_ask *ask, const struct ask_table *known)
{
	size_t row = 0;

	while (ask->service && row < known->nr_rows &&
	       strcmp(ask_text(known, row, "service"), ask->service) != 0)
		row++;
	return row;
}

static int ask_choose_builds(struct fleet_ask *ask, const struct ask_table *known, struct err *err)
{
	size_t row = ask_service_row(ask, known);
	const char *rest = ask_table_cell(known, row, "names");

	if (!rest)
		return ask_no_service(ask, known, err);
	if (known->nr_rows > 1 && !ask->service) {
		err_set(err, -EINVAL, "cannot choose two builds: there are %zu services",
			known->nr_rows);
		err_hint(err, "add --service NAME, or name the builds: fleet compare BASE HEAD");
		return err->code;
	}
	rest = ask_table_element(rest, ask->chosen_build, sizeof(ask->chosen_build));
	do { /* builds with the same label are one */
		rest = rest ? ask_table_element(rest, ask->chosen_base, sizeof(ask->chosen_base))
			    : NULL;
	} while (rest && !strcmp(ask->chosen_base, ask->chosen_build));
	if (!rest)
		return err_set(err, -ENODATA, "no data to compare: '%s' has only one build, %s",
			       ask_text(known, row, "service"), ask->chosen_build);
	ask->build = ask->chosen_build;
	ask->base = ask->chosen_base;
	return 0;
}

static int ask_newest_builds(struct fleet_ask *ask, fleet_query_fn query, void *server,
			     struct err *err)
{
	struct ask_table known = { 0 };
	int rc = ask_file(ask, "ask_known.sql", query, server, &known, err);

	if (!rc)
		rc = ask_choose_builds(ask, &known, err);
	ask_table_release(&known);
	return rc;
}

static int ask_choose_run(struct fleet_ask *ask, const struct ask_table *runs, struct err *err)
{
	char names[400] = "";
	size_t i, used = 0;

	if (!runs->nr_rows)
		return 0; /* the answer has no rows either: fleet_ask_explain() says why */
	if (runs->nr_rows == 1) {
		snprintf(ask->chosen_run, sizeof(ask->chosen_run), "%s",
			 ask_text(runs, 0, "run_id"));
		ask->run = ask->chosen_run;
		return 0;
	}
	for (i = 0; i < runs->nr_rows && i < 5; i++) {
		int n = snprintf(names + used, sizeof(names) - used, "%s%.12s (%s, %s)",
				 i ? ", " : "", ask_text(runs, i, "run_id"),
				 ask_text(runs, i, "service_name"), ask_text(runs, i, "host_name"));

		if (n < 0 || (size_t)n >= sizeof(names) - used)
			break;
		used += (size_t)n;
	}
	err_set(err, -EINVAL, "coroutine %" PRIu64 " is in %zu%s runs", ask->coroutine,
		runs->nr_rows, runs->nr_rows == 100 ? " or more" : "");
	err_hint(err, "choose one with --run or --host: %s%s", names,
		 runs->nr_rows > 5 ? ", ..." : "");
	return err->code;
}

static int ask_find_run(struct fleet_ask *ask, fleet_query_fn query, void *server, struct err *err)
{
	struct ask_table runs = { 0 };
	int rc = ask_file(ask, "ask_coroutine_runs.sql", query, server, &runs, err);

	if (!rc)
		rc = ask_choose_run(ask, &runs, err);
	ask_table_release(&runs);
	return rc;
}

int fleet_ask_begin(struct fleet_ask *ask, size_t shards, fleet_query_fn query, void *server,
		    struct err *err)
{
	int rc = ask_tables(ask, shards, query, server, err);

	if (!rc && !strcmp(ask->question->name, "compare") && !ask->base)
		rc = ask_newest_builds(ask, query, server, err);
	if (!rc && !strcmp(ask->question->name, "coroutine"))
		rc = ask_find_run(ask, query, server, err);
	return rc;
}

static int ask_no_build(const char *build, const char *known, struct err *err)
{
	char names[400];

	ask_join_list(known, names, sizeof(names));
	err_set(err, -ENODATA, "no data: there is no build or version '%s'", build);
	err_hint(err, "builds known, newest first: %s", names);
	return err->code;
}

/* True if @build is a version, or the beginning of a build, in the lists of @row. */
static bool ask_has_build(const struct ask_table *known, size_t row, const char *build)
{
	const char *builds = ask_table_cell(known, row, "builds");
	const char *versions = ask_table_cell(known, row, "versions");
	char one[256];

	while (builds && (builds = ask_table_element(builds, one, sizeof(one))) != NULL) {
		if (!strncmp(one, build, strlen(build)))
			return true;
	}
	while (versions && (versions = ask_table_element(versions, one, sizeof(one))) != NULL) {
		if (!strcmp(one, build))
			return true;
	}
	return false;
}

static int ask_explain_row(const struct fleet_ask *ask, const struct ask_table *known, size_t row,
			   struct err *err)
{
	const char *builds = ask_table_cell(known, row, "builds");
	uint64_t last = ask_table_number(known, row, "last_s");

	if (ask->build && !ask_has_build(known, row, ask->build))
		return ask_no_build(ask->build, builds, err);
	if (ask->base && !ask_has_build(known, row, ask->base))
		return ask_no_build(ask->base, builds, err);
	if (last < ask->since) {
		err_set(err, -ENODATA, "no data in this time: the newest of '%s' is of %s UTC",
			ask_text(known, row, "service"), ask_text(known, row, "last"));
		err_hint(err, "choose an earlier time: --since '%s'",
			 ask_text(known, row, "first"));
		return err->code;
	}
	return 0;
}

int fleet_ask_explain(const struct fleet_ask *ask, fleet_query_fn query, void *server,
		      struct err *err)
{
	struct ask_table known = { 0 };
	int rc = ask_file(ask, "ask_known.sql", query, server, &known, err);

	if (!rc && ask_service_row(ask, &known) == known.nr_rows)
		rc = ask_no_service(ask, &known, err);
	else if (!rc)
		rc = ask_explain_row(ask, &known, ask_service_row(ask, &known), err);
	ask_table_release(&known);
	return rc;
}

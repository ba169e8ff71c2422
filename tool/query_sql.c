/* SPDX-License-Identifier: MIT */
/* query_sql.c - run an SQL statement on a trace or a recording, and print the result. */
#include "json_file.h"
#include "query_sql.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/number.h"
#include "base/text.h"
#include "cmd.h"
#include "collect/collector_client.h"
#include "running_list.h"

/* ---- the trace of a running program --------------------------------------------- */

/* The trace that the collector writes, freed by the caller; NULL with a message in @err. */
static char *query_output_of(const struct running *r, struct err *err)
{
	const char *path = running_text(r->status, "output");

	if (!r->status) {
		*err = r->err;
	} else if (running_number(r->status, "recorder_size")) {
		err_set(err, -ENODATA,
			"the collector of this program is a flight recorder: its "
			"events are not in a file");
		err_hint(err,
			 "corotracer snapshot -p %" PRIu64 " -o FILE writes them; then "
			 "corotracer query FILE SQL",
			 running_number(r->status, "pid"));
	} else if (!*path || !strcmp(path, "-") || !strncmp(path, "/dev/", 5)) {
		err_set(err, -ENODATA, "the collector of this program writes no trace file");
		err_hint(err, "start it with -o FILE: corotracer run -o trace.ct -- ./program");
	} else {
		char *copy = strdup(path);

		if (!copy)
			err_set(err, -ENOMEM, "no memory for a name");
		return copy;
	}
	return NULL;
}

static char *query_live_trace(uint64_t pid, struct err *err)
{
	struct all_running all = { 0 };
	const struct running *chosen = NULL;
	char *path = NULL;
	size_t i, left;

	if (running_look(&all, NULL, &left, err) < 0)
		return NULL;
	for (i = 0; i < all.nr && !chosen; i++) {
		if (running_traces(&all.at[i], pid))
			chosen = &all.at[i];
	}
	if (chosen) {
		path = query_output_of(chosen, err);
	} else {
		running_nobody(&all, pid, left, err);
		if (!all.nr)
			err_hint(err, "start the program with corotracer run -o trace.ct; a "
				      "finished trace is named: corotracer query TRACE SQL");
	}
	running_release(&all);
	return path;
}

/* ---- messages -------------------------------------------------------------------- */

/* Longest part of a statement that is shown with an error. */
#define QUERY_SHOWN 72

/* The line of the statement with the error, and a mark below it. */
static void query_show_position(const char *sql, int position)
{
	const char *at = sql + position, *from = at, *to = at;
	int before = 0;

	if (position < 0 || (size_t)position > strlen(sql))
		return;
	while (from > sql && from[-1] != '\n' && at - from < QUERY_SHOWN / 2)
		from--;
	while (*to && *to != '\n' && to - from < QUERY_SHOWN)
		to++;
	fputs("  ", stderr);
	text_put_n(stderr, from, (size_t)(to - from));
	fputs("\n  ", stderr);
	for (; from < at; from++)
		before += ((unsigned char)*from & 0xc0) != 0x80;
	fprintf(stderr, "%*s^\n", before, "");
}

static void query_failed(const char *sql, int position, const struct err *err)
{
	struct err first = *err;

	first.hint[0] = '\0';
	message_error("query", &first);
	if (sql)
		query_show_position(sql, position);
	if (err->hint[0])
		fprintf(stderr, "hint: %s\n", err->hint);
}

/* EXIT_FAILED after a message if something is missing in what was read. */
static int query_tell_missing(const struct query_stats *s)
{
	const struct recfile_stats *frames = &s->recording;
	char what[TRACE_SHORTAGE_SIZE];
	int status = EXIT_OK;

	if (s->has_verdict && trace_shortage(&s->trace, what, sizeof(what))) {
		enum trace_verdict verdict = trace_verdict(&s->trace);

		message_print("query", "the trace is %s: %s", trace_verdict_name(verdict), what);
		if (verdict == TRACE_INCOMPLETE)
			status = EXIT_FAILED;
	}
	if (!s->has_recording)
		return status;
	if (frames->torn || frames->foreign || frames->cut_bytes) {
		message_print("query",
			      "the recording is damaged: %s corrupt records were skipped, %s bytes "
			      "at its end are no whole record",
			      number_text(frames->torn + frames->foreign),
			      number_text(frames->cut_bytes));
		status = EXIT_FAILED;
	}
	if (frames->gaps)
		message_print("query", "%s frames are missing in the recording by their numbers",
			      number_text(frames->gaps));
	return status;
}

static void query_print_stats(const struct query_print *p, const struct query_stats *s,
			      uint64_t took_ns)
{
	char took[TEXT_SIZE];

	fprintf(stderr, "%s row%s, %s", number_text(p->nr_rows), number_plural(p->nr_rows),
		text_duration(took, took_ns));
	fprintf(stderr, ", %s in %s scan%s", number_bytes(s->bytes), number_text(s->scans),
		number_plural(s->scans));
	if (s->has_blocks)
		fprintf(stderr, ": %s block reads, of %s blocks", number_text(s->blocks_read),
			number_text(s->blocks));
	fputc('\n', stderr);
}

static void query_put_stats(struct query_print *p, const struct query_stats *s)
{
	struct json_writer *j = &p->json;

	jw_key(j, "stats");
	jw_object_begin(j);
	jw_field_u64(j, "rows", p->nr_rows);
	jw_field_u64(j, "scans", s->scans);
	jw_field_u64(j, "bytes", s->bytes);
	if (s->has_blocks) {
		jw_field_u64(j, "blocks", s->blocks);
		jw_field_u64(j, "blocks_read", s->blocks_read);
	}
	jw_object_end(j);
	if (s->has_verdict)
		trace_put_completeness(j, &s->trace);
	else
		jw_field_null(j, "completeness");
}

/* ---- the job --------------------------------------------------------------------- */

static int query_sql_statement(const struct query_sql *job, struct query *q)
{
	struct query_print print = { .form = job->form, .exact_text = job->exact_text };
	struct query_output output = query_print_begin(&print);
	uint64_t start = clock_now_ns();
	struct err err = { 0 };
	int position, rc = query_run(q, job->sql, &output, &position, &err), written;

	query_print_rows_end(&print);
	if (print.form == QUERY_JSON && print.names)
		query_put_stats(&print, query_stats_of(q));
	written = query_print_end(&print);
	if (rc < 0) {
		query_failed(job->sql, position, &err);
		return EXIT_FAILED;
	}
	if (written < 0) {
		message_print("query", "cannot write to standard output: %s", strerror(-written));
		return EXIT_FAILED;
	}
	if (job->stats || (job->form == QUERY_TABLE && isatty(STDOUT_FILENO)))
		query_print_stats(&print, query_stats_of(q), clock_now_ns() - start);
	return query_tell_missing(query_stats_of(q));
}

/* ---- the list of tables ------------------------------------------------------------ */

#define QUERY_LIST_WIDTH 78
#define QUERY_LIST_NAMES 16 /* columns for the name of a table */

struct query_lister {
	const char *table; /* NULL: none yet */
	bool is_json;
	struct json_writer json;
	int used; /* columns of the line */
};

static void query_list_json(struct query_lister *l, const char *table, const char *column,
			    const char *type, bool is_new)
{
	if (is_new && l->table)
		jw_object_end(&l->json);
	if (is_new) {
		jw_key(&l->json, table);
		jw_object_begin(&l->json);
	}
	jw_field_string(&l->json, column, type);
}

static void query_list_text(struct query_lister *l, const char *table, const char *column,
			    bool is_new)
{
	int width = text_width(column) + 2;

	if (is_new) {
		fputs(l->table ? "\n" : "", stdout);
		text_put(stdout, table);
		l->used = text_width(table);
		printf("%*s", l->used < QUERY_LIST_NAMES ? QUERY_LIST_NAMES - l->used : 1, "");
		l->used = l->used < QUERY_LIST_NAMES ? QUERY_LIST_NAMES : l->used + 1;
	} else if (l->used + width > QUERY_LIST_WIDTH) {
		printf(",\n%*s", QUERY_LIST_NAMES, "");
		l->used = QUERY_LIST_NAMES;
	} else {
		fputs(", ", stdout);
	}
	text_put(stdout, column);
	l->used += width;
}

static void query_list_column(void *to, const char *table, const char *column, const char *type)
{
	struct query_lister *l = to;
	bool is_new = !l->table || strcmp(l->table, table) != 0;

	if (l->is_json)
		query_list_json(l, table, column, type, is_new);
	else
		query_list_text(l, table, column, is_new);
	l->table = table;
}

static int query_list_tables(const struct query_sql *job, const struct query *q)
{
	struct query_lister l = { .is_json = job->form == QUERY_JSON };
	int rc = 0;

	if (l.is_json) {
		jw_init_file(&l.json, json_file_stream(stdout));
		jw_object_begin(&l.json);
		jw_key(&l.json, "tables");
		jw_object_begin(&l.json);
	}
	query_describe(q, query_list_column, &l);
	if (l.is_json) {
		if (l.table)
			jw_object_end(&l.json);
		jw_object_end(&l.json);
		jw_object_end(&l.json);
		jw_newline(&l.json);
		rc = jw_release(&l.json);
	} else {
		puts("\n\nfunctions: percentile(x, p), median(x), histogram(x), at('10s'), "
		     "elapsed(ts),\n           site_name(site)");
	}
	return rc == 0 && fflush(stdout) == 0 ? EXIT_OK : EXIT_FAILED;
}

int query_sql_run(const struct query_sql *job)
{
	struct query_options options = { .trace = job->trace,
					 .recording = job->recording,
					 .may_grow = job->pid != 0 };
	struct err err = { 0 };
	struct query *q = NULL;
	char *live = job->pid ? query_live_trace(job->pid, &err) : NULL;
	int status = EXIT_FAILED;

	if (job->pid)
		options.trace = live;
	if (!err.code)
		q = query_open(&options, &err);
	if (!q)
		query_failed(NULL, -1, &err);
	else if (job->sql)
		status = query_sql_statement(job, q);
	else
		status = query_list_tables(job, q);
	query_close(q);
	free(live);
	return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * cmd_query.c - corotracer query: SQL on a trace or a recording; without SQL, list the buffers,
 * frames and tags of a process or a recording.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"
#include "frames/live/live_buffer.h"
#include "frames/file/recording_reader.h"
#include "frames_show.h"
#include "json_file.h"
#include "query_sql.h"

struct query_request {
	pid_t pid;
	const char *file, *buffer;
	bool list, describe, tags, json;
	bool csv, stats, exact_text;
};

static const struct opt options[] = {
	{ 'p', "pid", "PID", "process id of a running program",
	  OPT_NUMBER(struct query_request, pid, 1, 1u << 30) },
	{ 'f', "file", "FILE", "recording of frames, alone or beside TRACE",
	  OPT_TEXT(struct query_request, file) },
	{ 'b', "buffer", "NAME", "name of the buffer, if the process has several",
	  OPT_TEXT(struct query_request, buffer) },
	{ 'l', "list", NULL, "list the buffers (default with -p)",
	  OPT_FLAG(struct query_request, list) },
	{ 'd', "describe", NULL, "print the layout of the frames (default with -f and -b)",
	  OPT_FLAG(struct query_request, describe) },
	{ 't', "tags", NULL, "print the tags", OPT_FLAG(struct query_request, tags) },
	{ 0, "csv", NULL, "SQL: print CSV", OPT_FLAG(struct query_request, csv) },
	{ 0, "json", "[=FILE]", "print one JSON object", OPT_FLAG(struct query_request, json) },
	{ 0, "stats", NULL, "SQL: print how much was read", OPT_FLAG(struct query_request, stats) },
	{ .name = "no-formula-guard",
	  .help = "CSV: do not put ' before text like =1+1",
	  .is_rare = true,
	  OPT_FLAG(struct query_request, exact_text) },
	{ .name = NULL },
};

static void query_json_info(struct json_writer *w, const struct recfile *f)
{
	unsigned i;

	jw_field_string(w, "file", f->name);
	jw_field_string(w, "date", f->info.date);
	jw_field_string(w, "comment", f->info.comment);
	jw_field_i64(w, "time_offset_s", f->info.delta_s);
	jw_key(w, "counters");
	jw_array_begin(w);
	for (i = 0; i < f->info.nr_counters; i++)
		jw_string(w, f->info.counters[i]);
	jw_array_end(w);
	if (f->info.format) {
		jw_field_i64(w, "pid", f->info.pid);
		jw_field_string(w, "program", f->info.program);
	}
}

static void query_print_json(const struct desc *d, const struct recfile *f, pid_t pid)
{
	struct json_writer w;

	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	if (f)
		query_json_info(&w, f);
	else
		jw_field_i64(&w, "pid", pid);
	show_desc_json(&w, d);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static void query_print_info(const struct recfile *f)
{
	unsigned i;

	fputs("recorded  ", stdout);
	text_put(stdout, f->info.date ? f->info.date : "?");
	if (f->info.format) {
		printf(", process %d ", (int)f->info.pid);
		text_put(stdout, f->info.program ? f->info.program : "?");
	}
	putchar('\n');
	if (f->info.comment && *f->info.comment) {
		fputs("comment   ", stdout);
		text_put(stdout, f->info.comment);
		putchar('\n');
	}
	if (f->info.delta_s)
		printf("offset    %lld s are added to times\n", (long long)f->info.delta_s);
	for (i = 0; i < f->info.nr_counters; i++) {
		printf("%-9s ", i ? "" : "counters");
		text_put(stdout, f->info.counters[i]);
		putchar('\n');
	}
}

static void query_print_desc(const struct query_request *q, const struct desc *d,
			     const struct recfile *f)
{
	if (q->json) {
		query_print_json(d, f, q->pid);
		return;
	}
	if (q->tags && !q->describe && !q->list) {
		show_tags(stdout, d);
		return;
	}
	show_facts(stdout, d);
	if (f)
		query_print_info(f);
	if (d->nr_tags)
		puts("tags");
	show_tags(stdout, d);
	if (!q->list || q->describe) {
		putchar('\n');
		show_layout(stdout, d);
	}
}

static int query_process(const struct query_request *q)
{
	struct live_buffer b;
	struct err err = { 0 };

	if (q->list || (!q->describe && !q->tags && !q->buffer))
		return show_buffers("query", q->pid, q->json);
	if (live_open(&b, q->pid, q->buffer, &err) < 0) {
		message_error("query", &err);
		return EXIT_FAILED;
	}
	query_print_desc(q, &b.desc, NULL);
	live_release(&b);
	return EXIT_OK;
}

static int query_file(const struct query_request *q)
{
	struct recfile f;
	struct err err = { 0 };

	if (recfile_open(&f, q->file, &err) < 0) {
		message_error("query", &err);
		return EXIT_FAILED;
	}
	query_print_desc(q, &f.desc, &f);
	recfile_close(&f);
	return EXIT_OK;
}

/* ---- SQL ------------------------------------------------------------------------- */

/* The operands: TRACE SQL, TRACE alone, or SQL alone with -p or -f. */
static int query_start_sql(const struct query_request *q, int argc, char **argv, int first)
{
	bool is_named = !q->pid && (!q->file || argc - first == 2);
	struct query_sql job = { .pid = (uint64_t)q->pid,
				 .recording = q->file,
				 .form = q->json  ? QUERY_JSON
					 : q->csv ? QUERY_CSV
						  : QUERY_TABLE,
				 .exact_text = q->exact_text,
				 .stats = q->stats };

	if (is_named)
		job.trace = argv[first++];
	if (first < argc)
		job.sql = argv[first++];
	if (first < argc)
		return opts_unexpected(&command_query, argv[first]);
	if (q->buffer || q->list || q->describe || q->tags || (q->json && q->csv)) {
		message_print("query", q->csv && q->json ? "--csv and --json exclude each other"
							 : "-b, -l, -d and -t are not for SQL");
		return EXIT_USAGE;
	}
	if (job.trace && !job.recording && recfile_sniff(job.trace)) {
		job.recording = job.trace;
		job.trace = NULL;
	}
	return query_sql_run(&job);
}

static int run_query(int argc, char **argv)
{
	struct query_request q = { 0 };
	int first, status = opts_parse(&command_query, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (q.pid && q.file) {
		message_print("query", "-p and -f exclude each other");
		return EXIT_USAGE;
	}
	if (first < argc)
		return query_start_sql(&q, argc, argv, first);
	if (!q.pid && !q.file)
		return opts_missing(&command_query, "TRACE, -p PID or -f FILE");
	return q.pid ? query_process(&q) : query_file(&q);
}

const struct command command_query = {
	.name = "query",
	.instrument = "coroutines",
	.args = "(TRACE | -p PID | -f FILE) [SQL]",
	.summary = "run SQL on a trace; without SQL, list tables and frame buffers",
	.details =
		"Tables: events, waits, slices, coroutines, sites, switches, gaps, run, "
		"frame_TYPE\n"
		"and others: 'query TRACE' lists them.  -p reads what the collector of a running\n"
		"program has written.  Conditions on ts, probe_id, site and kind choose the "
		"blocks\n"
		"that are read.\n"
		"\n"
		"corotracer query t.ct \"SELECT site_name(site), percentile(duration_ns, 99)\n"
		"                        FROM waits GROUP BY site\"\n"
		"\n"
		"Exit status: 0 done; 1 failed, or the trace is incomplete; 2 usage.\n",
	.opts = options,
	.run = run_query,
};

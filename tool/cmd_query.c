/* SPDX-License-Identifier: MIT */
/* cmd_query.c - corotracer query: list the buffers, frames and tags of a process or a recording. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"
#include "frames/live/live_buffer.h"
#include "frames/file/recording_reader.h"
#include "frames_show.h"

struct query_options {
	pid_t pid;
	const char *file, *buffer;
	bool list, describe, tags, json;
};

static const struct opt options[] = {
	{ 'p', "pid", "PID", "process id of a running program",
	  OPT_NUMBER(struct query_options, pid, 1, 1u << 30) },
	{ 'f', "file", "FILE", "recording", OPT_TEXT(struct query_options, file) },
	{ 'b', "buffer", "NAME", "name of the buffer, if the process has several",
	  OPT_TEXT(struct query_options, buffer) },
	{ 'l', "list", NULL, "list the buffers (default with -p)",
	  OPT_FLAG(struct query_options, list) },
	{ 'd', "describe", NULL, "print the layout of the frames (default with -f and -b)",
	  OPT_FLAG(struct query_options, describe) },
	{ 't', "tags", NULL, "print the tags", OPT_FLAG(struct query_options, tags) },
	{ 0, "json", NULL, "print everything as one JSON object",
	  OPT_FLAG(struct query_options, json) },
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

	jw_init_file(&w, stdout);
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

static void query_print_desc(const struct query_options *q, const struct desc *d,
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

static int query_process(const struct query_options *q)
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

static int query_file(const struct query_options *q)
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

static int run_query(int argc, char **argv)
{
	struct query_options q = { 0 };
	int first, status = opts_parse(&command_query, &q, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first < argc)
		return opts_unexpected(&command_query, argv[first]);
	if (!q.pid && !q.file)
		return opts_missing(&command_query, "-p PID or -f FILE");
	if (q.pid && q.file) {
		message_print("query", "-p and -f exclude each other");
		return EXIT_USAGE;
	}
	return q.pid ? query_process(&q) : query_file(&q);
}

const struct command command_query = {
	.name = "query",
	.instrument = "frames",
	.args = "-p PID | -f FILE [OPTIONS]",
	.summary = "show the frame buffers of a process or a recording",
	.opts = options,
	.run = run_query,
};

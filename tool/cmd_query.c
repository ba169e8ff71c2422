/* SPDX-License-Identifier: MIT */
/* cmd_query.c - corotracer query: list the buffers, frames and tags of a process or a recording. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cmd.h"
#include "frames/live/live_buffer.h"
#include "frames/file/recording_reader.h"
#include "frames_show.h"

enum { O_PID, O_FILE, O_BUFFER, O_LIST, O_DESCRIBE, O_TAGS, O_JSON };

static const struct opt options[] = {
	[O_PID] = { 'p', "pid", "PID", "look into a running process" },
	[O_FILE] = { 'f', "file", "FILE", "look into a recording" },
	[O_BUFFER] = { 'b', "buffer", "NAME", "which buffer of the process (if it has several)" },
	[O_LIST] = { 'l', "list", NULL, "list the buffers (default with -p)" },
	[O_DESCRIBE] = { 'd', "describe", NULL,
			 "the layout of the frames (default with -f and -b)" },
	[O_TAGS] = { 't', "tags", NULL, "the tags" },
	[O_JSON] = { 0, "json", NULL, "print one JSON object, with all of it" },
	{ 0, NULL, NULL, NULL },
};

struct request {
	pid_t pid;
	const char *file, *buffer;
	bool list, describe, tags, json;
};

static void json_info(struct json_writer *w, const struct recfile *f)
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

static void print_json(const struct desc *d, const struct recfile *f, pid_t pid)
{
	struct json_writer w;

	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	if (f)
		json_info(&w, f);
	else
		jw_field_i64(&w, "pid", pid);
	show_desc_json(&w, d);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

static void print_info(const struct recfile *f)
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

static void print_desc(const struct request *q, const struct desc *d, const struct recfile *f)
{
	if (q->json) {
		print_json(d, f, q->pid);
		return;
	}
	if (q->tags && !q->describe && !q->list) {
		show_tags(stdout, d);
		return;
	}
	show_facts(stdout, d);
	if (f)
		print_info(f);
	if (d->nr_tags)
		puts("tags");
	show_tags(stdout, d);
	if (!q->list || q->describe) {
		putchar('\n');
		show_layout(stdout, d);
	}
}

static int query_process(const struct request *q)
{
	struct live_buffer b;
	struct err err = { 0 };

	if (q->list || (!q->describe && !q->tags && !q->buffer))
		return show_buffers("query", q->pid, q->json);
	if (live_open(&b, q->pid, q->buffer, &err) < 0) {
		say_error("query", &err);
		return EXIT_FAILED;
	}
	print_desc(q, &b.desc, NULL);
	live_release(&b);
	return EXIT_OK;
}

static int query_file(const struct request *q)
{
	struct recfile f;
	struct err err = { 0 };

	if (recfile_open(&f, q->file, &err) < 0) {
		say_error("query", &err);
		return EXIT_FAILED;
	}
	print_desc(q, &f.desc, &f);
	recfile_close(&f);
	return EXIT_OK;
}

static bool take_option(struct request *q, int which, const char *value)
{
	unsigned long long number;

	if (which == O_PID) {
		if (!opt_number("query", "-p", value, 1, 1u << 30, &number))
			return false;
		q->pid = (pid_t)number;
	}
	if (which == O_FILE)
		q->file = value;
	if (which == O_BUFFER)
		q->buffer = value;
	q->list |= which == O_LIST;
	q->describe |= which == O_DESCRIBE;
	q->tags |= which == O_TAGS;
	q->json |= which == O_JSON;
	return true;
}

static int run(int argc, char **argv)
{
	struct request q = { 0 };
	struct opt_walk walk = { 0 };
	const char *value;
	int first = argc, which;

	while ((which = opt_next(&command_query, &walk, argc, argv, &value, &first)) >= 0) {
		if (!take_option(&q, which, value))
			return EXIT_USAGE;
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (first < argc) {
		say("query", "'%s' is one word too many", argv[first]);
	} else if (!q.pid == !q.file) {
		say("query",
		    q.pid ? "a process or a recording, not both" : "a process or a recording?");
	} else {
		return q.pid ? query_process(&q) : query_file(&q);
	}
	fputs("hint: corotracer query -p PID | -f FILE\n", stderr);
	return EXIT_USAGE;
}

const struct command command_query = {
	.name = "query",
	.instrument = "frames",
	.args = "-p PID | -f FILE [OPTIONS]",
	.summary = "show the frame buffers of a process or a recording",
	.opts = options,
	.run = run,
};

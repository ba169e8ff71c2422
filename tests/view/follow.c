/* SPDX-License-Identifier: MIT */
/*
 * follow.c - a trace as a live page receives it.
 *
 *	follow TRACE EVERY STALL_NS
 *
 * Reads a trace and polls the view every EVERY items, once more as if nothing had come for
 * STALL_NS after the last event, then at its end.  Prints the changes of each poll, a JSON object
 * a line; a final line {"looked":"twice"} says that all sections are byte for byte those of a
 * view that was polled only at the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_data.h"

static const char *const sections[] = { "report", "series", "sites",    "strings",  "coros",
					"lod",    "index",  "slices/0", "slices/1", "slices/2" };

static void die(const struct err *err)
{
	fprintf(stderr, "follow: %s\n", err->text);
	exit(1);
}

static void print_delta(struct view *v, uint64_t since)
{
	struct bytes delta = { 0 };
	struct err err = { 0 };

	if (view_delta(v, since, &delta, &err) < 0)
		die(&err);
	if (memchr(delta.data, '\n', delta.size)) {
		err_set(&err, -EINVAL, "a delta of more than one line");
		die(&err);
	}
	fwrite(delta.data, 1, delta.size, stdout);
	putchar('\n');
	bytes_release(&delta);
}

static void tick(struct view *v, struct trace_reader *reader, uint64_t now_ts)
{
	struct err err = { 0 };

	if (view_tick(v, trace_reader_stats(reader), now_ts, &err) < 0)
		die(&err);
	print_delta(v, view_ticks(v) - 1);
}

/* @every 0: only at the end. */
static struct view *read_all(const char *path, unsigned long every, uint64_t stall_ns)
{
	struct view_options options = { .trace = path };
	struct view *v = view_new(&options);
	struct err err = { 0 };
	struct trace_reader *reader = trace_reader_open(path, &err);
	struct trace_item item;
	unsigned long nr = 0;
	bool ended = false;
	int rc;

	if (!reader || !v)
		die(&err);
	while ((rc = trace_next(reader, &item, &err)) > 0) {
		/* After the events come the records of the end: a live page does not have them. */
		if (every && !ended && item.type == TRACE_ITEM_COROUTINE) {
			ended = true;
			tick(v, reader, view_model(v)->last_ts + stall_ns);
		}
		if (view_add(v, &item, &err) < 0)
			die(&err);
		if (every && !ended && ++nr % every == 0)
			tick(v, reader, 0);
	}
	if (rc < 0 || view_finish(v, trace_reader_stats(reader), &err) < 0)
		die(&err);
	trace_reader_close(reader);
	return v;
}

static void compare(struct view *a, struct view *b, const char *name)
{
	struct bytes x = { 0 }, y = { 0 };
	struct err err = { 0 };
	int rc = view_section(a, name, &x, &err);

	if (view_section(b, name, &y, &err) != rc || x.size != y.size ||
	    (x.size && memcmp(x.data, y.data, x.size) != 0)) {
		err_set(&err, -EINVAL, "section '%s' is another after looks", name);
		die(&err);
	}
	bytes_release(&x);
	bytes_release(&y);
}

int main(int argc, char **argv)
{
	struct view *v, *plain;
	uint64_t stall_ns;
	size_t i;

	if (argc != 4) {
		fputs("usage: follow TRACE EVERY STALL_NS\n", stderr);
		return 2;
	}
	stall_ns = strtoull(argv[3], NULL, 10);
	v = read_all(argv[1], strtoul(argv[2], NULL, 10), stall_ns);
	print_delta(v, view_ticks(v) - 1);
	plain = read_all(argv[1], 0, 0);
	for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		/* A view that has seen a later time has wider steps of time. */
		if (!stall_ns || strcmp(sections[i], "series") != 0)
			compare(v, plain, sections[i]);
	}
	puts("{\"looked\":\"twice\"}");
	view_free(v);
	view_free(plain);
	return 0;
}

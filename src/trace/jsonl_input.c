/* SPDX-License-Identifier: MIT */
/*
 * jsonl_input.c - read lines of JSON, and the sidecar beside them.
 *
 * The sidecar holds what comes first, what is in between and what comes last, in the
 * order in which it was known.  It is read three times, each time for one of these; what
 * is of another type is passed over without a look inside.
 */
#include "trace/jsonl_input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum phase { FACTS, EVENTS, REST, DONE };

/* What of the sidecar belongs to a phase. */
static const unsigned wanted[] = {
	[FACTS] = 1u << TRACE_ITEM_RUN | 1u << TRACE_ITEM_PROCESS | 1u << TRACE_ITEM_MODULE |
		  1u << TRACE_ITEM_SITE,
	[EVENTS] = 1u << TRACE_ITEM_EVENT | 1u << TRACE_ITEM_GAP,
	[REST] = 1u << TRACE_ITEM_COROUTINE | 1u << TRACE_ITEM_TOTALS,
};

struct jsonl_input {
	struct trace_reader reader; /* first: one is the other */
	enum phase phase;
	struct jsonl_reader lines;
	struct sidecar_reader sidecar;
	bool sidecar_is_open;
	uint64_t sidecar_bytes; /* of the passes before */

	/* While events are merged: the next of each, if there is one. */
	bool has_line, has_told;
	bool only_lines; /* the sidecar has no more of them */
	struct trace_event line;
	struct trace_item told;
};

static struct jsonl_input *input_of(struct trace_reader *r)
{
	return (struct jsonl_input *)r;
}

/* ---- the sidecar --------------------------------------------------------- */

/* What is wrong with a line shows whenever it is read: the first pass counts that. */
static void add_stats(struct jsonl_input *in)
{
	const struct sidecar_stats *now = &in->sidecar.stats;
	struct sidecar_stats *all = &in->reader.stats.sidecar;

	if (in->phase == FACTS) {
		all->lines = now->lines;
		all->garbage = now->garbage;
		all->unknown_types = now->unknown_types;
	}
	all->records += now->records;
	all->unknown_keys += now->unknown_keys;
	all->bad_fields += now->bad_fields;
}

static int open_sidecar(struct jsonl_input *in, struct err *err)
{
	int rc;

	if (!in->reader.stats.sidecar_path)
		return 0;
	rc = sidecar_reader_open(&in->sidecar, in->reader.stats.sidecar_path, err);
	if (rc == -ENOENT) {
		*err = (struct err){ 0 };
		return 0; /* other tools write none */
	}
	if (rc < 0)
		return rc;
	in->sidecar.wanted = wanted[in->phase];
	in->sidecar_is_open = in->reader.stats.has_sidecar = true;
	return 0;
}

static void close_sidecar(struct jsonl_input *in)
{
	if (!in->sidecar_is_open)
		return;
	add_stats(in);
	in->sidecar_bytes += in->sidecar.lines.bytes;
	sidecar_reader_close(&in->sidecar);
	in->sidecar_is_open = false;
}

static int next_told(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	return in->sidecar_is_open ? sidecar_next(&in->sidecar, item, err) : 0;
}

/* ---- events -------------------------------------------------------------- */

static uint64_t time_of(const struct trace_item *item)
{
	return item->type == TRACE_ITEM_GAP ? item->gap.to_ts : item->event.ts;
}

/* Of one time: first it is born and woken, then it runs and stops, then it ends. */
static bool told_is_first(const struct jsonl_input *in)
{
	const struct trace_item *told = &in->told;

	if (!in->has_line || time_of(told) != in->line.ts)
		return !in->has_line || time_of(told) < in->line.ts;
	return told->type == TRACE_ITEM_EVENT &&
	       (told->event.kind < TRACE_END || trace_is_of_resource(&told->event));
}

static int fetch(struct jsonl_input *in, struct err *err)
{
	int rc;

	if (!in->has_line) {
		rc = jsonl_next(&in->lines, &in->line, err);
		if (rc < 0)
			return rc;
		in->has_line = rc > 0;
	}
	if (!in->has_told) {
		rc = next_told(in, &in->told, err);
		if (rc < 0)
			return rc;
		in->has_told = rc > 0;
	}
	return 0;
}

/* Nothing left to merge: lines only, which need not wait anywhere. */
static int next_line(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	item->type = TRACE_ITEM_EVENT;
	return jsonl_next(&in->lines, &item->event, err);
}

static int next_event(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	int rc;

	if (in->only_lines)
		return next_line(in, item, err);
	rc = fetch(in, err);
	if (rc < 0 || (!in->has_line && !in->has_told))
		return rc;
	if (in->has_told && told_is_first(in)) {
		*item = in->told;
		in->has_told = false;
		return 1;
	}
	item->type = TRACE_ITEM_EVENT;
	item->event = in->line;
	in->has_line = false;
	in->only_lines = !in->has_told;
	return 1;
}

/* ---- the reader ---------------------------------------------------------- */

static int next_of_phase(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	return in->phase == EVENTS ? next_event(in, item, err) : next_told(in, item, err);
}

static void tell_progress(struct jsonl_input *in)
{
	struct trace_stats *stats = &in->reader.stats;

	stats->bytes = in->lines.lines.bytes + in->sidecar_bytes +
		       (in->sidecar_is_open ? in->sidecar.lines.bytes : 0);
}

static int next(struct trace_reader *r, struct trace_item *item, struct err *err)
{
	struct jsonl_input *in = input_of(r);
	int rc = 0;

	while (in->phase != DONE && (rc = next_of_phase(in, item, err)) == 0) {
		close_sidecar(in);
		r->stats.lines = in->lines.stats;
		in->phase++;
		if (in->phase != DONE && (rc = open_sidecar(in, err)) < 0)
			break;
	}
	tell_progress(in);
	return rc;
}

static void close_input(struct trace_reader *r)
{
	struct jsonl_input *in = input_of(r);

	close_sidecar(in);
	jsonl_reader_close(&in->lines);
	free(r->stats.sidecar_path);
	free(in);
}

static const struct trace_reader_ops ops = { .next = next, .close = close_input };

static int begin(struct jsonl_input *in, const char *path, struct err *err)
{
	struct trace_stats *stats = &in->reader.stats;

	if (jsonl_reader_open(&in->lines, path, err) < 0)
		return err->code;
	stats->is_stdin = !strcmp(path, "-");
	if (!stats->is_stdin) {
		stats->sidecar_path = sidecar_path(path);
		if (!stats->sidecar_path)
			return err_set(err, -ENOMEM, "no memory for a file name");
	}
	if (open_sidecar(in, err) < 0)
		return err->code;
	stats->total = lines_total(&in->lines.lines);
	if (in->sidecar_is_open && stats->total)
		stats->total += 3 * lines_total(&in->sidecar.lines);
	return 0;
}

struct trace_reader *jsonl_input_open(const char *path, struct err *err)
{
	struct jsonl_input *in = calloc(1, sizeof(*in));

	if (!in) {
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
		return NULL;
	}
	in->reader.ops = &ops;
	in->reader.stats.format = TRACE_FORMAT_JSONL;
	if (begin(in, path, err) == 0)
		return &in->reader;
	close_input(&in->reader);
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * jsonl_input.c - read JSON lines and their sidecar.
 *
 * The sidecar holds the facts that come first, the events, and the items that come last, in the
 * order in which the collector learned them.  The reader makes three passes over it, one for
 * each group; lines of other groups are skipped without parsing.
 *
 * While following a trace that is being written, the first two passes are one: facts are
 * returned when they appear.  That is early enough, because the writer writes the sidecar
 * before the lines that need it (jsonl_output.c).  If a line has been read and a later read of
 * the sidecar finds nothing more, every item that belongs before the line is known.  In the
 * other direction no such order exists, only a time limit: see PATIENCE_NS.
 *
 * A sidecar that is being written ends with a room (sidecar.h), which the next lines overwrite.
 * The file is final up to there.  While it does not end with a room, a write is in progress and
 * its final part is not known.
 */
#include "trace/jsonl_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/io.h"
#include "trace/unpack.h"

/*
 * An item of the sidecar was read, and the older lines may not be in the trace yet: a collector
 * writes both files ten times a second.  If it is stopped between the two writes, the item
 * waits for this long; older lines that appear later are then out of order.
 */
#define PATIENCE_NS (300 * NS_PER_MS)

enum jsonl_phase { FACTS, EVENTS, REST, DONE };

#define EVENT_TYPES (1u << TRACE_ITEM_EVENT | 1u << TRACE_ITEM_GAP)
#define REST_TYPES  (1u << TRACE_ITEM_COROUTINE | 1u << TRACE_ITEM_TOTALS)

/* Types of sidecar items by phase. */
static const unsigned wanted[] = {
	[FACTS] = ((1u << NR_TRACE_ITEM_TYPES) - 1) & ~(EVENT_TYPES | REST_TYPES),
	[EVENTS] = EVENT_TYPES,
	[REST] = REST_TYPES,
};

struct jsonl_input {
	struct trace_reader reader; /* first member: cast to and from */
	enum jsonl_phase phase;
	struct jsonl_reader lines;
	struct sidecar_reader sidecar;
	bool sidecar_is_open;
	struct packed_input packed, packed_sidecar; /* in use if the file is compressed */
	uint64_t sidecar_bytes;                     /* of the previous passes */

	/* While events are merged: the next item of each file. */
	bool has_line, has_told;
	bool only_lines; /* the sidecar has no more events */
	struct trace_event line;
	struct trace_item told;

	/* While following: */
	bool told_unknown;    /* the sidecar may hold an item that was not read */
	uint64_t told_dry_at; /* value of `fills` of the lines when the sidecar was exhausted */
	uint64_t told_fills;  /* `fills` of the sidecar at its last read, */
	uint64_t told_ns;     /* and the time of that read */
	uint64_t patience_ns;
};

static struct jsonl_input *input_of(struct trace_reader *r)
{
	return (struct jsonl_input *)r;
}

/* ---- the sidecar --------------------------------------------------------- */

/*
 * The first pass counts the corrupt lines.  Only a line that begins like a type of a later pass
 * is left to that pass, which counts it as damaged.
 */
static void add_stats(struct jsonl_input *in)
{
	const struct sidecar_stats *now = &in->sidecar.stats;
	struct sidecar_stats *all = &in->reader.stats.sidecar;

	if (in->phase == FACTS || !all->lines) {
		all->lines = now->lines;
		all->garbage = now->garbage;
		all->unknown_types = now->unknown_types;
	} else {
		all->garbage += now->damaged;
	}
	all->records += now->records;
	all->unknown_keys += now->unknown_keys;
	all->bad_fields += now->bad_fields;
}

static int jsonl_input_open_told(struct jsonl_input *in, struct err *err)
{
	const char *path = in->reader.stats.sidecar_path;
	int fd;

	if (!unpack_is_packed(path))
		return sidecar_reader_open(&in->sidecar, path, err);
	fd = unpack_open(&in->packed_sidecar, path, err);
	return fd < 0 ? fd : sidecar_reader_open_fd(&in->sidecar, fd, path, err);
}

static int jsonl_input_open_sidecar(struct jsonl_input *in, struct err *err)
{
	int rc;

	if (!in->reader.stats.sidecar_path)
		return 0;
	rc = jsonl_input_open_told(in, err);
	if (rc == -ENOENT) {
		*err = (struct err){ 0 };
		return 0; /* other tools write no sidecar */
	}
	if (rc < 0)
		return rc;
	in->sidecar.wanted = wanted[in->phase];
	if (in->reader.stats.growing) {
		in->sidecar.wanted |= wanted[FACTS];
		lines_follow(&in->sidecar.lines, 0);
	}
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
	in->reader.stats.packed_cut |= !unpack_close(&in->packed_sidecar);
	in->sidecar_is_open = false;
}

/* Allow reading up to the final part of the sidecar.  False: its end is not known. */
static bool raise_limit(struct jsonl_input *in)
{
	uint64_t end;

	if (!sidecar_final_end(in->sidecar.lines.fd, &end))
		return false;
	lines_follow(&in->sidecar.lines, end);
	return true;
}

/*
 * Returns 1: *@item is set; 0: the end; -EAGAIN: no more for now, and if *@dry is set, the
 * final part of the sidecar was read completely.
 */
static int next_told(struct jsonl_input *in, struct trace_item *item, bool *dry, struct err *err)
{
	int rc = in->sidecar_is_open ? sidecar_next(&in->sidecar, item, err) : 0;

	*dry = rc == 0;
	if (rc != -EAGAIN)
		return rc;
	if (raise_limit(in)) {
		rc = sidecar_next(&in->sidecar, item, err);
		*dry = true;
	}
	return rc;
}

/* ---- events -------------------------------------------------------------- */

static uint64_t jsonl_input_time_of(const struct trace_item *item)
{
	return item->type == TRACE_ITEM_GAP ? item->gap.to_ts : item->event.ts;
}

static bool is_fact(const struct trace_item *item)
{
	return item->type != TRACE_ITEM_EVENT && item->type != TRACE_ITEM_GAP;
}

/* At equal times births, wakes and resource events come first, then transitions, then ends. */
static bool told_is_first(const struct jsonl_input *in)
{
	const struct trace_item *told = &in->told;

	if (is_fact(told))
		return true;
	if (!in->has_line || jsonl_input_time_of(told) != in->line.ts)
		return !in->has_line || jsonl_input_time_of(told) < in->line.ts;
	return told->type == TRACE_ITEM_EVENT &&
	       (told->event.kind < TRACE_END || trace_is_of_resource(&told->event));
}

static int fetch_line(struct jsonl_input *in, struct err *err)
{
	int rc = in->has_line ? 1 : jsonl_next(&in->lines, &in->line, err);

	in->has_line = rc > 0;
	return rc == -EAGAIN ? 0 : rc;
}

static int fetch_told(struct jsonl_input *in, struct err *err)
{
	uint64_t fills = in->lines.lines.fills;
	bool dry;
	int rc;

	/* Once per buffer of lines is sufficient. */
	if (in->has_told || (in->has_line && in->told_dry_at == fills && fills))
		return 0;
	rc = next_told(in, &in->told, &dry, err);
	in->has_told = rc > 0;
	in->told_unknown = rc == -EAGAIN && !dry;
	if (rc == -EAGAIN && dry)
		in->told_dry_at = fills;
	if (in->reader.stats.growing && in->told_fills != in->sidecar.lines.fills) {
		in->told_fills = in->sidecar.lines.fills;
		in->told_ns = clock_now_ns();
	}
	return rc == -EAGAIN ? 0 : rc;
}

/* Lines first: the sidecar must be read after the line was seen. */
static int jsonl_input_fetch(struct jsonl_input *in, struct err *err)
{
	int rc = fetch_line(in, err);

	return rc < 0 ? rc : fetch_told(in, err);
}

/* An item of the sidecar may have to wait for older lines. */
static bool must_wait(const struct jsonl_input *in)
{
	return in->reader.stats.growing && !in->has_line && !is_fact(&in->told) &&
	       clock_now_ns() - in->told_ns < in->patience_ns;
}

/* Nothing left to merge: lines are returned directly. */
static int next_line(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	item->type = TRACE_ITEM_EVENT;
	return jsonl_next(&in->lines, &item->event, err);
}

static int jsonl_input_next_event(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	int rc;

	if (in->only_lines)
		return next_line(in, item, err);
	rc = jsonl_input_fetch(in, err);
	if (rc < 0)
		return rc;
	if (in->has_told ? must_wait(in) : !in->has_line || in->told_unknown)
		return in->reader.stats.growing ? -EAGAIN : 0;
	if (in->has_told && told_is_first(in)) {
		*item = in->told;
		in->has_told = false;
		return 1;
	}
	item->type = TRACE_ITEM_EVENT;
	item->event = in->line;
	in->has_line = false;
	in->only_lines = !in->has_told && !in->reader.stats.growing;
	return 1;
}

/* ---- the reader ---------------------------------------------------------- */

static int next_of_phase(struct jsonl_input *in, struct trace_item *item, struct err *err)
{
	bool dry;

	return in->phase == EVENTS ? jsonl_input_next_event(in, item, err)
				   : next_told(in, item, &dry, err);
}

static void tell_progress(struct jsonl_input *in)
{
	struct trace_stats *stats = &in->reader.stats;

	stats->bytes = in->lines.lines.bytes + in->sidecar_bytes +
		       (in->sidecar_is_open ? in->sidecar.lines.bytes : 0);
}

/* Publishes the problems so far, for readers of the statistics during the run. */
static void tell_meanwhile(struct jsonl_input *in)
{
	in->reader.stats.lines = in->lines.stats;
	in->reader.stats.sidecar.garbage = in->sidecar.stats.garbage;
}

/* True if the trace has no writer any more: its contents are final. */
static bool jsonl_input_is_settled(struct jsonl_input *in)
{
	if (io_is_locked(in->lines.lines.fd))
		return false;
	in->reader.stats.growing = false;
	lines_settle(&in->lines.lines);
	if (in->sidecar_is_open)
		lines_settle(&in->sidecar.lines);
	in->told_dry_at = 0;
	in->told_unknown = false;
	return true;
}

static int jsonl_input_next(struct trace_reader *r, struct trace_item *item, struct err *err)
{
	struct jsonl_input *in = input_of(r);
	int rc = 0;

	while (in->phase != DONE && (rc = next_of_phase(in, item, err)) <= 0) {
		if (rc == -EAGAIN && jsonl_input_is_settled(in))
			continue;
		if (rc == -EAGAIN)
			tell_meanwhile(in);
		if (rc < 0)
			break;
		close_sidecar(in);
		r->stats.lines = in->lines.stats;
		if (in->phase == EVENTS) /* at the end of the lines */
			r->stats.packed_cut |= !unpack_close(&in->packed);
		in->phase++;
		if (in->phase != DONE && (rc = jsonl_input_open_sidecar(in, err)) < 0)
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
	unpack_close(&in->packed);
	free(r->stats.sidecar_path);
	free(in);
}

static const struct trace_reader_ops jsonl_input_ops = { .next = jsonl_input_next,
							 .close = close_input };

/* The trace has a writer: continue at its end until the writer closes it. */
static void jsonl_input_follow(struct jsonl_input *in)
{
	in->reader.stats.growing = true;
	in->patience_ns = PATIENCE_NS;
	in->phase = EVENTS;
	lines_follow(&in->lines.lines, UINT64_MAX);
}

static int jsonl_input_open_lines(struct jsonl_input *in, const char *path, struct err *err)
{
	int fd;

	if (!strcmp(path, "-") || !unpack_is_packed(path))
		return jsonl_reader_open(&in->lines, path, err);
	fd = unpack_open(&in->packed, path, err);
	return fd < 0 ? fd : jsonl_reader_open_fd(&in->lines, fd, path, err);
}

/* Of x.jsonl.zst: x.jsonl.meta, which may be compressed itself; of others NAME.meta. */
static char *jsonl_input_sidecar_of(const char *path)
{
	static const char *const suffixes[] = { "", ".zst", ".gz" };
	char *plain = unpack_plain_name(path), *found = NULL;
	size_t i;

	for (i = 0; plain && i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char *name = NULL;

		if (asprintf(&name, "%s" SIDECAR_SUFFIX "%s", plain, suffixes[i]) < 0)
			break;
		if (access(name, F_OK) == 0) {
			found = name;
			break;
		}
		free(name);
	}
	free(plain);
	return found ? found : sidecar_path(path);
}

static int jsonl_input_begin(struct jsonl_input *in, const char *path, bool may_grow,
			     struct err *err)
{
	struct trace_stats *stats = &in->reader.stats;

	if (jsonl_input_open_lines(in, path, err) < 0)
		return err->code;
	if (may_grow && io_is_locked(in->lines.lines.fd))
		jsonl_input_follow(in);
	stats->is_stdin = !strcmp(path, "-");
	if (!stats->is_stdin) {
		stats->sidecar_path = jsonl_input_sidecar_of(path);
		if (!stats->sidecar_path)
			return err_set(err, -ENOMEM, "no memory for a file name");
	}
	if (jsonl_input_open_sidecar(in, err) < 0)
		return err->code;
	stats->total = lines_total(&in->lines.lines);
	if (in->sidecar_is_open && stats->total)
		stats->total += 3 * lines_total(&in->sidecar.lines);
	return 0;
}

struct trace_reader *jsonl_input_open(const char *path, bool may_grow, struct err *err)
{
	struct jsonl_input *in = calloc(1, sizeof(*in));

	if (!in) {
		err_set(err, -ENOMEM, "no memory to read '%s'", path);
		return NULL;
	}
	in->reader.ops = &jsonl_input_ops;
	in->reader.stats.format = TRACE_FORMAT_JSONL;
	if (jsonl_input_begin(in, path, may_grow, err) == 0)
		return &in->reader;
	close_input(&in->reader);
	return NULL;
}

void jsonl_input_patience(struct trace_reader *r, uint64_t ns)
{
	input_of(r)->patience_ns = ns;
}

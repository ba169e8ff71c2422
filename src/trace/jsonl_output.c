/* SPDX-License-Identifier: MIT */
/*
 * jsonl_output.c - write a trace as JSON lines with a sidecar.
 *
 * Transitions are lines of the trace; everything else goes to the sidecar.  Without a sidecar
 * (a pipe, a device) everything else is not written, and is not counted as lost.
 */
#include "trace/jsonl_output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/jsonl_writer.h"
#include "trace/sidecar.h"

struct jsonl_output {
	struct trace_writer writer; /* first member: cast to and from */
	struct jsonl_writer events;
	struct sidecar_writer sidecar;
	bool has_sidecar;
	struct trace_lane *lanes; /* by number: pid and tid for gaps */
	uint32_t nr_lanes;
};

static struct jsonl_output *output_of(struct trace_writer *w)
{
	return (struct jsonl_output *)w;
}

/* ---- lanes --------------------------------------------------------------- */

static bool jsonl_output_make_room_for(struct jsonl_output *o, uint32_t number)
{
	uint32_t nr = o->nr_lanes ? o->nr_lanes : 16;
	struct trace_lane *more;

	if (number < o->nr_lanes)
		return true;
	if (number >= TRACE_LANES_MAX)
		return false;
	while (nr <= number)
		nr *= 2;
	more = reallocarray(o->lanes, nr, sizeof(*more));
	if (!more)
		return false;
	memset(more + o->nr_lanes, 0, (nr - o->nr_lanes) * sizeof(*more));
	o->lanes = more;
	o->nr_lanes = nr;
	return true;
}

static void jsonl_output_put_lane(struct trace_writer *w, const struct trace_lane *lane)
{
	struct jsonl_output *o = output_of(w);

	if (jsonl_output_make_room_for(o, lane->number))
		o->lanes[lane->number] = *lane;
}

static void jsonl_output_put_gap(struct jsonl_output *o, const struct trace_gap *gap)
{
	struct trace_item whole = { .type = TRACE_ITEM_GAP, .gap = *gap };

	if (gap->lane < o->nr_lanes) {
		whole.gap.pid = o->lanes[gap->lane].pid;
		whole.gap.tid = o->lanes[gap->lane].tid;
	}
	sidecar_put_fact(&o->sidecar, &whole);
}

/* ---- events and facts ---------------------------------------------------- */

static void jsonl_output_put_event(struct trace_writer *w, uint32_t lane,
				   const struct trace_event *ev)
{
	struct jsonl_output *o = output_of(w);

	(void)lane;
	if (trace_is_transition(ev))
		jsonl_put(&o->events, ev);
	else if (o->has_sidecar)
		sidecar_put_event(&o->sidecar, ev);
}

static void write_both(void *ctx);

/* Lines are written in the order of the calls. */
static void jsonl_output_put_horizon(struct trace_writer *w, uint64_t ts)
{
	(void)w;
	(void)ts;
}

static void jsonl_output_put_fact(struct trace_writer *w, const struct trace_item *fact)
{
	struct jsonl_output *o = output_of(w);

	if (!o->has_sidecar)
		return;
	switch (fact->type) {
	case TRACE_ITEM_RUN:
		sidecar_put_fact(&o->sidecar, fact);
		write_both(o); /* on disk if the collector is killed */
		break;
	case TRACE_ITEM_GAP:
		jsonl_output_put_gap(o, &fact->gap);
		break;
	case TRACE_ITEM_TOTALS:
		write_both(o);
		sidecar_put_totals(&o->sidecar, &fact->totals);
		break;
	case TRACE_ITEM_EVENT:
	case NR_TRACE_ITEM_TYPES:
		break;
	default:
		sidecar_put_fact(&o->sidecar, fact);
	}
}

static void describe_save(const struct jsonl_output *o, struct trace_save *save)
{
	const struct jsonl_writer *e = &o->events;
	const struct sidecar_writer *s = &o->sidecar;

	*save = (struct trace_save){
		.lane = TRACE_SAVE_ALL,
		.trace_size = e->bytes + (uint64_t)(e->at - e->buf),
		.sidecar_size = o->has_sidecar
					? s->end + (uint64_t)(s->at - s->buf) + SIDECAR_ROOM_SIZE
					: 0,
		.transitions = e->written + e->buffered,
		.others = s->events_written + s->events,
	};
}

/*
 * Readers that follow both files rely on this order: an item that comes before a line is in the
 * sidecar when that line is in the trace.
 */
static void write_both(void *ctx)
{
	struct jsonl_output *o = ctx;
	const struct trace_saver *saver = o->writer.saver;
	struct trace_save save;
	int rc = 0;

	if (o->events.at == o->events.buf && (!o->has_sidecar || o->sidecar.at == o->sidecar.buf))
		return;
	describe_save(o, &save);
	if (saver)
		saver->begin(saver->ctx, &save);
	if (o->has_sidecar)
		rc = sidecar_flush(&o->sidecar);
	rc = jsonl_flush(&o->events) < 0 || rc < 0;
	if (saver)
		saver->end(saver->ctx, !rc);
}

static void jsonl_output_flush(struct trace_writer *w)
{
	write_both(output_of(w));
}

static void jsonl_output_tell_counts(const struct trace_writer *w, struct trace_counts *counts)
{
	const struct jsonl_output *o = (const struct jsonl_output *)w;

	*counts = (struct trace_counts){
		.written = o->events.written,
		.unwritten = o->events.unwritten,
		.others_written = o->sidecar.events_written,
		.others_unwritten = o->sidecar.events_unwritten,
	};
}

/* ---- open and close ------------------------------------------------------ */

static void close_output(struct trace_writer *w, struct trace_counts *counts, struct err *trace,
			 struct err *facts)
{
	struct jsonl_output *o = output_of(w);

	jsonl_close(&o->events, trace);
	if (o->has_sidecar)
		sidecar_writer_close(&o->sidecar, facts);
	jsonl_output_tell_counts(w, counts);
	free(o->lanes);
	free(o);
}

static const struct trace_writer_ops jsonl_output_ops = {
	.lane = jsonl_output_put_lane,
	.event = jsonl_output_put_event,
	.horizon = jsonl_output_put_horizon,
	.fact = jsonl_output_put_fact,
	.flush = jsonl_output_flush,
	.counts = jsonl_output_tell_counts,
	.close = close_output,
};

static int jsonl_output_open_sidecar(struct jsonl_output *o, const char *trace_path,
				     struct err *err)
{
	char *path = sidecar_path(trace_path);
	int rc;

	if (!path)
		return err_set(err, -ENOMEM, "no memory for a path");
	rc = sidecar_writer_open(&o->sidecar, path, err);
	o->has_sidecar = rc == 0;
	/* Both files are written at the same points: a full buffer of one flushes both. */
	o->sidecar.before = write_both;
	o->sidecar.before_ctx = o;
	free(path);
	return rc;
}

struct trace_writer *jsonl_output_open(const struct trace_output *output, struct err *err)
{
	struct jsonl_output *o = calloc(1, sizeof(*o));
	struct trace_counts counts;
	struct err ignored;

	if (!o) {
		close(output->fd);
		err_set(err, -ENOMEM, "no memory to write '%s'", output->path);
		return NULL;
	}
	if (jsonl_writer_open(&o->events, output->fd, output->path, err) < 0) {
		free(o);
		return NULL;
	}
	o->writer.ops = &jsonl_output_ops;
	o->writer.wants_order = true;
	o->events.stop = output->stop;
	o->events.before = write_both;
	o->events.before_ctx = o;
	if (output->has_sidecar && jsonl_output_open_sidecar(o, output->path, err) < 0) {
		close_output(&o->writer, &counts, &ignored, &ignored);
		return NULL;
	}
	return &o->writer;
}

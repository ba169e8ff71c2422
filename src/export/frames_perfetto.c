/* SPDX-License-Identifier: MIT */
/*
 * frames_perfetto.c - frames for ui.perfetto.dev, as track events in Perfetto's own format.
 *
 * Each frame type has a track below that of the process; below it are rows of slices, and a
 * track per counter.  Slices of a row do not overlap: an overlapping slice goes to the next free
 * row, and beyond ROWS_MAX to a row of its own.  Viewers show the rows of a member as one group.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "export/frames_viewer.h"
#include "export/perfetto_writer.h"

#define ROWS_MAX 256

/* Track ids. */
#define TRACK_PROCESS UINT64_C(1)
#define TRACK_LOST    UINT64_C(2)
#define TRACK_FRAMES  UINT64_C(3)         /* plus the type */
#define TRACK_COUNTER (UINT64_C(1) << 32) /* plus the number of the cell */
#define TRACK_ROW     (UINT64_C(1) << 40) /* plus cell number * ROWS_MAX, plus the row */
#define TRACK_SINGLE  (UINT64_C(1) << 60) /* plus a counter */

/* What has been written for a column. */
struct cell_state {
	bool key_told, name_told, counter_told;
	uint32_t nr_rows;
	uint64_t *ends; /* end of the last slice, per row */
};

struct type_state {
	uint64_t first_cell; /* cells are numbered across all types */
	struct cell_state *cells;
	bool track_told, category_told, name_told;
};

struct frames_perfetto {
	struct frame_timeline timeline; /* first member: cast to and from */
	struct perfetto_writer writer;
	struct type_state *types;
	size_t nr_types;
	const struct row_plan *plans;
	uint64_t nr_cells; /* of all types */
	uint64_t singles;
	bool lost_told;
};

static uint64_t cell_number(const struct frames_perfetto *x, const struct frame_shown *f,
			    const struct row_cell *cell)
{
	return x->types[f->type].first_cell + (uint64_t)(cell - f->plan->cells);
}

static struct cell_state *frames_perfetto_state_of(struct frames_perfetto *x,
						   const struct frame_shown *f,
						   const struct row_cell *cell)
{
	return &x->types[f->type].cells[cell - f->plan->cells];
}

/* ---- clocks --------------------------------------------------------------- */

/* Coarse clocks are less exact readings of the others. */
static enum clock clock_of(const struct desc *d)
{
	switch (desc_clock_id(d)) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
		return CLOCK_IS_REALTIME;
	case CLOCK_MONOTONIC_RAW:
		return CLOCK_IS_MONOTONIC_RAW;
	case CLOCK_BOOTTIME:
		return CLOCK_IS_BOOTTIME;
	default:
		return CLOCK_IS_MONOTONIC;
	}
}

/* With the start of the recording on both clocks, if it is known and times have no offset. */
static void frames_perfetto_begin_trace(struct frames_perfetto *x)
{
	const struct recording_info *info = &x->timeline.file->info;
	enum clock clock = clock_of(&x->timeline.file->desc);
	uint64_t monotonic = info->start_monotonic_ns, realtime = info->start_realtime_ns, pid;
	bool both = monotonic && realtime && monotonic <= INT64_MAX && realtime <= INT64_MAX &&
		    !info->delta_s && !x->timeline.counts.by_number &&
		    (clock == CLOCK_IS_MONOTONIC || clock == CLOCK_IS_REALTIME);
	const char *name = frame_timeline_process(&x->timeline, &pid);

	perfetto_begin_trace(&x->writer, clock, both ? monotonic : 0, both ? realtime : 0);
	perfetto_end_packet(&x->writer);
	perfetto_put_process(perfetto_begin_track(&x->writer, TRACK_PROCESS), pid, name);
	perfetto_end_track(&x->writer);
}

/* ---- tracks -------------------------------------------------------------- */

static struct proto *begin_track(struct frames_perfetto *x, uint64_t id, uint64_t parent,
				 const char *name)
{
	struct proto *p = perfetto_begin_track(&x->writer, id);

	proto_u64(p, DESCRIPTOR_PARENT, parent);
	perfetto_put_text(p, DESCRIPTOR_NAME, name);
	return p;
}

static void put_counter_track(struct frames_perfetto *x, uint64_t id, const char *name)
{
	struct proto *p = begin_track(x, id, TRACK_PROCESS, name);

	proto_begin(p, DESCRIPTOR_COUNTER);
	proto_end(p);
	perfetto_end_track(&x->writer);
}

/* The track of a frame type; it has the instants, and the other tracks are below it. */
static uint64_t frame_track(struct frames_perfetto *x, const struct frame_shown *f)
{
	struct type_state *type = &x->types[f->type];
	char name[DESC_NAME_MAX + 64];

	if (!type->track_told) {
		snprintf(name, sizeof(name), "%s%s", f->plan->frame->name,
			 x->timeline.counts.by_number ? " (by number: 1 us per frame)" : "");
		begin_track(x, TRACK_FRAMES + f->type, TRACK_PROCESS, name);
		perfetto_end_track(&x->writer);
		type->track_told = true;
	}
	return TRACK_FRAMES + f->type;
}

static uint64_t counter_track(struct frames_perfetto *x, const struct frame_shown *f,
			      const struct row_cell *cell)
{
	struct cell_state *s = frames_perfetto_state_of(x, f, cell);
	uint64_t id = TRACK_COUNTER + cell_number(x, f, cell);
	char name[4 * DESC_NAME_MAX];

	if (!s->counter_told) {
		snprintf(name, sizeof(name), "%s.%s", f->plan->frame->name, cell->name);
		put_counter_track(x, id, name);
		s->counter_told = true;
	}
	return id;
}

static void frames_perfetto_put_row(struct frames_perfetto *x, const struct frame_shown *f,
				    const struct row_cell *cell, uint64_t id)
{
	char key[4 * DESC_NAME_MAX];
	uint64_t parent = frame_track(x, f);
	struct proto *p = begin_track(x, id, parent, cell->field->member);

	snprintf(key, sizeof(key), "%s.%s", f->plan->frame->name, cell->field->member);
	proto_u64(p, DESCRIPTOR_MERGE, MERGE_BY_KEY);
	perfetto_put_text(p, DESCRIPTOR_MERGE_KEY, key);
	perfetto_end_track(&x->writer);
}

/* A row without a slice that ends after @from. */
static uint64_t free_row(struct frames_perfetto *x, const struct frame_shown *f,
			 const struct row_cell *cell, uint64_t from, uint64_t to)
{
	struct cell_state *s = frames_perfetto_state_of(x, f, cell);
	uint64_t id = TRACK_ROW + cell_number(x, f, cell) * ROWS_MAX;
	uint32_t row = 0;

	if (!s->ends)
		s->ends = calloc(ROWS_MAX, sizeof(*s->ends));
	while (s->ends && row < s->nr_rows && s->ends[row] > from)
		row++;
	if (!s->ends || row == ROWS_MAX) {
		frames_perfetto_put_row(x, f, cell, TRACK_SINGLE + x->singles);
		return TRACK_SINGLE + x->singles++;
	}
	if (row == s->nr_rows) {
		frames_perfetto_put_row(x, f, cell, id + row);
		s->nr_rows++;
	}
	s->ends[row] = to;
	return id + row;
}

/* ---- events -------------------------------------------------------------- */

static void frames_perfetto_put_value(struct proto *p, const struct cell *v)
{
	switch (v->kind) {
	case CELL_SIGNED:
		proto_i64(p, ANNOTATION_INT, v->i);
		break;
	case CELL_UNSIGNED:
		proto_u64(p, ANNOTATION_UINT, v->u);
		break;
	case CELL_BOOL:
		proto_u64(p, ANNOTATION_BOOL, v->u);
		break;
	case CELL_FLOAT:
		proto_double(p, ANNOTATION_DOUBLE, (double)v->f);
		break;
	case CELL_DOUBLE:
		proto_double(p, ANNOTATION_DOUBLE, v->d);
		break;
	case CELL_TEXT:
		proto_string(p, ANNOTATION_STRING, v->text, v->size);
		break;
	default:
		perfetto_put_text(p, ANNOTATION_STRING, "none");
		break;
	}
}

/* A value that was not taken is omitted; an array stays an array. */
static void frames_perfetto_put_annotation(struct frames_perfetto *x, const struct frame_shown *f,
					   const struct row_cell *cell)
{
	bool is_list = cell->is_list;
	struct proto *p = &x->writer.p;
	struct cell v;
	uint32_t i;

	row_get(f->plan, cell, 0, f->image, f->ticket, &v);
	if (!is_list && v.kind == CELL_NULL)
		return;
	proto_begin(p, EVENT_ANNOTATION);
	proto_u64(p, ANNOTATION_NAME, cell_number(x, f, cell) + 1);
	for (i = 0; is_list && i < cell->count; i++) {
		row_get(f->plan, cell, i, f->image, f->ticket, &v);
		proto_begin(p, ANNOTATION_ARRAY);
		frames_perfetto_put_value(p, &v);
		proto_end(p);
	}
	if (!is_list)
		frames_perfetto_put_value(p, &v);
	proto_end(p);
}

/* Texts that this packet uses for the first time. */
static void put_new_texts(struct frames_perfetto *x, const struct frame_shown *f,
			  const struct row_cell *named)
{
	struct type_state *type = &x->types[f->type];
	struct cell_state *s = named ? frames_perfetto_state_of(x, f, named) : NULL;
	struct proto *p = &x->writer.p;
	size_t c;

	proto_begin(p, PACKET_INTERNED);
	if (!type->category_told)
		perfetto_put_interned(p, INTERNED_CATEGORIES, f->type + UINT64_C(1),
				      f->plan->frame->name);
	if (s && !s->name_told)
		perfetto_put_interned(p, INTERNED_NAMES, cell_number(x, f, named) + 1,
				      named->field->member);
	if (!s && !type->name_told)
		perfetto_put_interned(p, INTERNED_NAMES, x->nr_cells + f->type + 1,
				      f->plan->frame->name);
	for (c = 0; c < f->plan->nr_cells; c++) {
		if (!type->cells[c].key_told)
			perfetto_put_interned(p, INTERNED_KEYS, type->first_cell + c + 1,
					      f->plan->cells[c].name);
		type->cells[c].key_told = true;
	}
	proto_end(p);
	type->category_told = true;
	*(s ? &s->name_told : &type->name_told) = true;
}

/* @named: the interval of the slice; NULL: an instant of the frame. */
static void frames_perfetto_put_frame(struct frames_perfetto *x, const struct frame_shown *f,
				      const struct row_cell *named)
{
	struct type_state *type = &x->types[f->type];
	struct proto *p = &x->writer.p;
	size_t c;

	proto_u64(p, EVENT_CATEGORY, f->type + UINT64_C(1));
	proto_u64(p, EVENT_NAME, named ? cell_number(x, f, named) + 1 : x->nr_cells + f->type + 1);
	for (c = 0; c < f->plan->nr_cells; c++)
		frames_perfetto_put_annotation(x, f, &f->plan->cells[c]);
	proto_end(p);
	if (named ? !frames_perfetto_state_of(x, f, named)->name_told : !type->name_told)
		put_new_texts(x, f, named);
	perfetto_end_packet(&x->writer);
}

static void frames_perfetto_put_slice(struct frame_timeline *t, const struct frame_shown *f,
				      const struct row_cell *cell, uint64_t from, uint64_t to)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = free_row(x, f, cell, from, to);

	perfetto_begin_event(&x->writer, track, from, SLICE_BEGIN);
	frames_perfetto_put_frame(x, f, cell);
	perfetto_begin_event(&x->writer, track, to, SLICE_END);
	proto_end(&x->writer.p);
	perfetto_end_packet(&x->writer);
}

static void frames_perfetto_put_instant(struct frame_timeline *t, const struct frame_shown *f,
					uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = frame_track(x, f);

	perfetto_begin_event(&x->writer, track, at, INSTANT);
	frames_perfetto_put_frame(x, f, NULL);
}

static void frames_perfetto_put_counter(struct frame_timeline *t, const struct frame_shown *f,
					const struct row_cell *cell, const struct cell *v,
					uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = counter_track(x, f, cell);
	struct proto *p = perfetto_begin_event(&x->writer, track, at, COUNTER);

	if (v->kind == CELL_SIGNED)
		proto_i64(p, EVENT_COUNTER, v->i);
	else if (v->kind == CELL_UNSIGNED && v->u <= INT64_MAX)
		proto_u64(p, EVENT_COUNTER, v->u);
	else
		proto_double(p, EVENT_DOUBLE_COUNTER,
			     v->kind == CELL_UNSIGNED ? (double)v->u
			     : v->kind == CELL_FLOAT  ? (double)v->f
						      : v->d);
	proto_end(p);
	perfetto_end_packet(&x->writer);
}

static void frames_perfetto_put_lost(struct frame_timeline *t, uint64_t frames, uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	struct proto *p;

	if (!x->lost_told)
		put_counter_track(x, TRACK_LOST, "frames lost");
	x->lost_told = true;
	p = perfetto_begin_event(&x->writer, TRACK_LOST, at, COUNTER);
	proto_u64(p, EVENT_COUNTER, frames);
	proto_end(p);
	perfetto_end_packet(&x->writer);
}

/* ---- the sink ------------------------------------------------------------ */

static int frames_perfetto_error(const struct frame_timeline *t)
{
	return ((const struct frames_perfetto *)t)->writer.p.error;
}

static void frames_perfetto_finish(struct frame_timeline *t)
{
	perfetto_flush(&((struct frames_perfetto *)t)->writer);
}

static void frames_perfetto_release(struct frame_timeline *t)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	size_t i, c;

	for (i = 0; x->types && i < x->nr_types; i++) {
		for (c = 0; x->types[i].cells && c < x->plans[i].nr_cells; c++)
			free(x->types[i].cells[c].ends);
		free(x->types[i].cells);
	}
	free(x->types);
	proto_release(&x->writer.p);
}

static bool make_states(struct frames_perfetto *x)
{
	size_t i;

	x->types = calloc(x->nr_types, sizeof(*x->types));
	for (i = 0; x->types && i < x->nr_types; i++) {
		x->types[i].first_cell = x->nr_cells;
		x->types[i].cells = calloc(x->plans[i].nr_cells, sizeof(struct cell_state));
		if (!x->types[i].cells)
			return false;
		x->nr_cells += x->plans[i].nr_cells;
	}
	return x->types != NULL;
}

static int frames_perfetto_open(struct sink_job *job, struct err *err)
{
	static const struct frame_view view = {
		.note = "open it with https://ui.perfetto.dev",
		.slice = frames_perfetto_put_slice,
		.instant = frames_perfetto_put_instant,
		.counter = frames_perfetto_put_counter,
		.lost = frames_perfetto_put_lost,
		.error = frames_perfetto_error,
		.finish = frames_perfetto_finish,
		.release = frames_perfetto_release,
	};
	struct frames_perfetto *x = frames_viewer_open(job, sizeof(*x), &view, err);

	if (!x)
		return err->code;
	x->writer.file = &x->timeline.out;
	x->plans = job->plans;
	x->nr_types = job->recording->desc.nr_frames;
	if (!make_states(x)) {
		frames_viewer_close(job);
		return err_set(err, -ENOMEM, "no memory to write '%s'", job->output);
	}
	frames_perfetto_begin_trace(x);
	return 0;
}

const struct sink frames_perfetto = {
	.name = "perfetto",
	.suffix = ".perfetto-trace",
	.open = frames_perfetto_open,
	FRAMES_VIEWER_SINK,
};

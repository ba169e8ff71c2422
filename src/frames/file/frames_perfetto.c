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
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/output_file.h"
#include "base/perfetto.h"
#include "base/proto.h"
#include "frames/file/decode.h"
#include "frames/file/frames_timeline.h"

#define SEQUENCE 1 /* there is one writer */
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
	struct frame_timeline timeline; /* must be first: the struct is cast */
	struct outfile file;
	struct proto p;
	struct type_state *types;
	size_t nr_types;
	const struct row_plan *plans;
	uint64_t nr_cells; /* of all types */
	uint64_t singles;
	bool lost_told;
};

static void frames_perfetto_put_text(struct proto *p, uint32_t field, const char *text)
{
	proto_string(p, field, text, strlen(text));
}

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

/* ---- packets ------------------------------------------------------------- */

static struct proto *frames_perfetto_begin_packet(struct frames_perfetto *x)
{
	proto_begin(&x->p, TRACE_PACKET);
	proto_u64(&x->p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(&x->p, PACKET_FLAGS, NEEDS_STATE);
	return &x->p;
}

static void frames_perfetto_end_packet(struct frames_perfetto *x)
{
	proto_end(&x->p);
	if (x->p.used < OUTFILE_BUFFER / 2)
		return;
	outfile_put(&x->file, x->p.buf, x->p.used);
	x->p.used = 0;
}

static void frames_perfetto_put_interned(struct proto *p, uint32_t kind, uint64_t iid,
					 const char *text)
{
	proto_begin(p, kind);
	proto_u64(p, 1, iid);
	frames_perfetto_put_text(p, 2, text);
	proto_end(p);
}

static void frames_perfetto_put_clock(struct proto *p, enum clock clock, uint64_t time)
{
	proto_begin(p, 1);
	proto_u64(p, 1, clock);
	proto_u64(p, 2, time);
	proto_end(p);
}

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

/* The start of the recording on both clocks, if it is known and times have no offset. */
static void frames_perfetto_put_clocks(struct frames_perfetto *x, enum clock clock)
{
	const struct recording_info *info = &x->timeline.file->info;
	uint64_t monotonic = info->start_monotonic_ns, realtime = info->start_realtime_ns;
	bool both = monotonic && realtime && monotonic <= INT64_MAX && realtime <= INT64_MAX &&
		    !info->delta_s && !x->timeline.counts.by_number &&
		    (clock == CLOCK_IS_MONOTONIC || clock == CLOCK_IS_REALTIME);

	proto_begin(&x->p, TRACE_PACKET);
	proto_u64(&x->p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_begin(&x->p, PACKET_CLOCK_SNAPSHOT);
	if (both) {
		frames_perfetto_put_clock(&x->p, CLOCK_IS_MONOTONIC, monotonic);
		frames_perfetto_put_clock(&x->p, CLOCK_IS_REALTIME, realtime);
	} else {
		frames_perfetto_put_clock(&x->p, clock, 0);
	}
	proto_u64(&x->p, 2, clock);
	proto_end(&x->p);
	proto_end(&x->p);
}

static void frames_perfetto_begin_trace(struct frames_perfetto *x)
{
	enum clock clock = clock_of(&x->timeline.file->desc);
	struct proto *p = &x->p;

	frames_perfetto_put_clocks(x, clock);
	proto_begin(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(p, PACKET_FLAGS, STATE_CLEARED);
	proto_u64(p, PACKET_FIRST, 1);
	proto_begin(p, PACKET_DEFAULTS);
	proto_u64(p, DEFAULTS_CLOCK, clock);
	proto_end(p);
	proto_end(p);
}

/* ---- tracks -------------------------------------------------------------- */

static void frames_perfetto_put_process(struct frames_perfetto *x)
{
	const struct recfile *file = x->timeline.file;
	const char *name = file->info.program ? file->info.program : file->desc.name;
	struct proto *p = frames_perfetto_begin_packet(x);

	proto_begin(p, PACKET_TRACK_DESCRIPTOR);
	proto_u64(p, DESCRIPTOR_UUID, TRACK_PROCESS);
	proto_begin(p, DESCRIPTOR_PROCESS);
	proto_u64(p, 1, file->info.pid > 0 ? (uint64_t)file->info.pid : 1);
	frames_perfetto_put_text(p, 6, name);
	proto_end(p);
	proto_end(p);
	frames_perfetto_end_packet(x);
}

static struct proto *begin_track(struct frames_perfetto *x, uint64_t id, uint64_t parent,
				 const char *name)
{
	struct proto *p = frames_perfetto_begin_packet(x);

	proto_begin(p, PACKET_TRACK_DESCRIPTOR);
	proto_u64(p, DESCRIPTOR_UUID, id);
	proto_u64(p, DESCRIPTOR_PARENT, parent);
	frames_perfetto_put_text(p, DESCRIPTOR_NAME, name);
	return p;
}

static void end_track(struct frames_perfetto *x)
{
	proto_end(&x->p);
	frames_perfetto_end_packet(x);
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
		end_track(x);
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
		proto_begin(begin_track(x, id, TRACK_PROCESS, name), DESCRIPTOR_COUNTER);
		proto_end(&x->p);
		end_track(x);
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
	frames_perfetto_put_text(p, DESCRIPTOR_MERGE_KEY, key);
	end_track(x);
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

static struct proto *frames_perfetto_begin_event(struct frames_perfetto *x, uint64_t track,
						 uint64_t ts, enum event_type type)
{
	struct proto *p = frames_perfetto_begin_packet(x);

	proto_u64(p, PACKET_TIMESTAMP, ts);
	proto_begin(p, PACKET_TRACK_EVENT);
	proto_u64(p, EVENT_TYPE, type);
	proto_u64(p, EVENT_TRACK, track);
	return p;
}

static void frames_perfetto_put_value(struct proto *p, const struct row_value *v)
{
	switch (v->kind) {
	case ROW_SIGNED:
		proto_i64(p, ANNOTATION_INT, v->i);
		break;
	case ROW_UNSIGNED:
		proto_u64(p, ANNOTATION_UINT, v->u);
		break;
	case ROW_BOOL:
		proto_u64(p, ANNOTATION_BOOL, v->u);
		break;
	case ROW_FLOAT:
		proto_double(p, ANNOTATION_DOUBLE, (double)v->f);
		break;
	case ROW_DOUBLE:
		proto_double(p, ANNOTATION_DOUBLE, v->d);
		break;
	case ROW_TEXT:
		proto_string(p, ANNOTATION_STRING, v->text, v->size);
		break;
	default:
		frames_perfetto_put_text(p, ANNOTATION_STRING, "none");
		break;
	}
}

/* A value that was not taken is omitted; an array stays an array. */
static void frames_perfetto_put_annotation(struct frames_perfetto *x, const struct frame_shown *f,
					   const struct row_cell *cell)
{
	bool is_list = cell->field && cell->field->is_array && cell->field->type != DESC_STRING;
	struct proto *p = &x->p;
	struct row_value v;
	uint32_t i;

	row_get(f->plan, cell, 0, f->image, f->ticket, &v);
	if (!is_list && v.kind == ROW_NONE)
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
	struct proto *p = &x->p;
	size_t c;

	proto_begin(p, PACKET_INTERNED);
	if (!type->category_told)
		frames_perfetto_put_interned(p, INTERNED_CATEGORIES, f->type + UINT64_C(1),
					     f->plan->frame->name);
	if (s && !s->name_told)
		frames_perfetto_put_interned(p, INTERNED_NAMES, cell_number(x, f, named) + 1,
					     named->field->member);
	if (!s && !type->name_told)
		frames_perfetto_put_interned(p, INTERNED_NAMES, x->nr_cells + f->type + 1,
					     f->plan->frame->name);
	for (c = 0; c < f->plan->nr_cells; c++) {
		if (!type->cells[c].key_told)
			frames_perfetto_put_interned(p, INTERNED_KEYS, type->first_cell + c + 1,
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
	struct proto *p = &x->p;
	size_t c;

	proto_u64(p, EVENT_CATEGORY, f->type + UINT64_C(1));
	proto_u64(p, EVENT_NAME, named ? cell_number(x, f, named) + 1 : x->nr_cells + f->type + 1);
	for (c = 0; c < f->plan->nr_cells; c++)
		frames_perfetto_put_annotation(x, f, &f->plan->cells[c]);
	proto_end(p);
	if (named ? !frames_perfetto_state_of(x, f, named)->name_told : !type->name_told)
		put_new_texts(x, f, named);
	frames_perfetto_end_packet(x);
}

static void frames_perfetto_put_slice(struct frame_timeline *t, const struct frame_shown *f,
				      const struct row_cell *cell, uint64_t from, uint64_t to)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = free_row(x, f, cell, from, to);

	frames_perfetto_begin_event(x, track, from, SLICE_BEGIN);
	frames_perfetto_put_frame(x, f, cell);
	frames_perfetto_begin_event(x, track, to, SLICE_END);
	proto_end(&x->p);
	frames_perfetto_end_packet(x);
}

static void frames_perfetto_put_instant(struct frame_timeline *t, const struct frame_shown *f,
					uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = frame_track(x, f);

	frames_perfetto_begin_event(x, track, at, INSTANT);
	frames_perfetto_put_frame(x, f, NULL);
}

static void frames_perfetto_put_counter(struct frame_timeline *t, const struct frame_shown *f,
					const struct row_cell *cell, const struct row_value *v,
					uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	uint64_t track = counter_track(x, f, cell);
	struct proto *p = frames_perfetto_begin_event(x, track, at, COUNTER);

	if (v->kind == ROW_SIGNED)
		proto_i64(p, EVENT_COUNTER, v->i);
	else if (v->kind == ROW_UNSIGNED && v->u <= INT64_MAX)
		proto_u64(p, EVENT_COUNTER, v->u);
	else
		proto_double(p, EVENT_DOUBLE_COUNTER,
			     v->kind == ROW_UNSIGNED ? (double)v->u
			     : v->kind == ROW_FLOAT  ? (double)v->f
						     : v->d);
	proto_end(p);
	frames_perfetto_end_packet(x);
}

static void frames_perfetto_put_lost(struct frame_timeline *t, uint64_t frames, uint64_t at)
{
	struct frames_perfetto *x = (struct frames_perfetto *)t;
	struct proto *p;

	if (!x->lost_told) {
		proto_begin(begin_track(x, TRACK_LOST, TRACK_PROCESS, "frames lost"),
			    DESCRIPTOR_COUNTER);
		proto_end(&x->p);
		end_track(x);
		x->lost_told = true;
	}
	p = frames_perfetto_begin_event(x, TRACK_LOST, at, COUNTER);
	proto_u64(p, EVENT_COUNTER, frames);
	proto_end(p);
	frames_perfetto_end_packet(x);
}

/* ---- the writer ---------------------------------------------------------- */

static void frames_perfetto_release(struct frames_perfetto *x)
{
	size_t i, c;

	for (i = 0; x->types && i < x->nr_types; i++) {
		for (c = 0; x->types[i].cells && c < x->plans[i].nr_cells; c++)
			free(x->types[i].cells[c].ends);
		free(x->types[i].cells);
	}
	free(x->types);
	proto_release(&x->p);
	outfile_close(&x->file);
	free(x);
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

static int frames_perfetto_open(struct decode_writer *w, const char *out, struct err *err)
{
	static const struct frame_view view = {
		.slice = frames_perfetto_put_slice,
		.instant = frames_perfetto_put_instant,
		.counter = frames_perfetto_put_counter,
		.lost = frames_perfetto_put_lost,
	};
	struct frames_perfetto *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return err_set(err, -ENOMEM, "no memory to write '%s'", out);
	x->plans = w->plans;
	x->nr_types = w->file->desc.nr_frames;
	rc = make_states(x) ? outfile_open(&x->file, out, err)
			    : err_set(err, -ENOMEM, "no memory to write '%s'", out);
	if (rc < 0) {
		frames_perfetto_release(x);
		return rc;
	}
	frame_timeline_init(&x->timeline, &view, w->file);
	w->state = x;
	frames_perfetto_begin_trace(x);
	frames_perfetto_put_process(x);
	return 0;
}

static int frames_perfetto_check(struct frames_perfetto *x, struct err *err)
{
	if (x->p.error)
		return err_set(err, x->p.error, "no memory to write '%s'", x->file.path);
	return x->file.error ? outfile_settle(&x->file, err) : 0;
}

static int perfetto_frame(struct decode_writer *w, unsigned type, const uint8_t *image,
			  uint64_t ticket, struct err *err)
{
	struct frames_perfetto *x = w->state;
	const struct frame_shown f = { &w->plans[type], type, image, ticket };

	frame_timeline_frame(&x->timeline, &f);
	return frames_perfetto_check(x, err);
}

static void perfetto_mark(struct decode_writer *w, const struct recording_mark *mark)
{
	struct frames_perfetto *x = w->state;

	frame_timeline_mark(&x->timeline, mark);
}

static int frames_perfetto_close(struct decode_writer *w, bool complete, struct err *err)
{
	struct frames_perfetto *x = w->state;
	int rc = 0;

	outfile_put(&x->file, x->p.buf, x->p.used);
	if (complete)
		rc = frames_perfetto_check(x, err);
	if (complete && !rc)
		rc = outfile_commit(&x->file, err);
	w->bytes = x->file.bytes;
	w->counts = x->timeline.counts;
	frames_perfetto_release(x);
	w->state = NULL;
	return rc;
}

const struct decode_writer decode_perfetto = {
	.name = "perfetto",
	.open = frames_perfetto_open,
	.frame = perfetto_frame,
	.mark = perfetto_mark,
	.close = frames_perfetto_close,
};

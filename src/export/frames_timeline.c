/* SPDX-License-Identifier: MIT */
/* frames_timeline.c - convert the frames of a recording to the elements of a timeline viewer. */
#include "export/frames_timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"

#define ROWS_MAX 256

/* ---- tracks -------------------------------------------------------------- */

/* The process comes first, and is the parent unless there is one. */
static void frame_track_show(struct frame_timeline *t, struct timeline_track *track)
{
	if (!t->process.id && track != &t->process)
		frame_track_show(t, &t->process);
	track->id = ++t->next_track;
	track->pid = t->process.pid;
	if (track != &t->process && !track->parent)
		track->parent = t->process.id;
	track->rank = (unsigned)track->id;
	t->view->track(t->view, track);
}

/* The track of a frame type; it has the instants, and the rows are below it. */
static struct timeline_track *frame_type_track(struct frame_timeline *t,
					       const struct frame_shown *f)
{
	struct timeline_track *track = &t->types[f->type].track.track;

	if (!track->id)
		frame_track_show(t, track);
	return track;
}

static struct frame_track frame_row_track(struct frame_timeline *t, const struct frame_shown *f,
					  const struct row_cell *cell)
{
	struct frame_type *type = &t->types[f->type];

	return (struct frame_track){
		.track = { .type = TRACK_FRAME_ROW,
			   .name = cell->field->member,
			   .pid = t->process.pid,
			   .parent = frame_type_track(t, f)->id },
		.category = type->category.text,
		.group = type->columns[cell - f->plan->cells].group,
		.slice = f->ticket,
	};
}

/* A row without a slice that ends after @from; NULL: they are used up. */
static struct frame_row *free_row(struct frame_column *c, uint64_t from)
{
	uint32_t row = 0;

	if (!c->rows)
		c->rows = calloc(ROWS_MAX, sizeof(*c->rows));
	while (c->rows && row < c->nr_rows && c->rows[row].end > from)
		row++;
	return c->rows && row < ROWS_MAX ? &c->rows[row] : NULL;
}

/* ---- elements ------------------------------------------------------------ */

static void frame_timeline_put_slice(struct frame_timeline *t, const struct frame_shown *f,
				     const struct row_cell *cell, uint64_t from, uint64_t to)
{
	struct frame_type *type = &t->types[f->type];
	struct frame_column *c = &type->columns[cell - f->plan->cells];
	const struct frame_mark frame = { f, type };
	const struct timeline_mark m = { .name = &c->slice, .frame = &frame };
	struct frame_track track = frame_row_track(t, f, cell);
	struct frame_row *row = free_row(c, from);

	if (row && row->id) {
		track.track.id = row->id;
	} else {
		frame_track_show(t, &track.track);
		c->nr_rows += row != NULL;
	}
	if (row)
		*row = (struct frame_row){ track.track.id, to };
	t->view->begin(t->view, &track.track, from, &m);
	t->view->end(t->view, &track.track, to, &c->slice);
	t->counts.slices++;
}

static void frame_timeline_put_instant(struct frame_timeline *t, const struct frame_shown *f,
				       uint64_t at)
{
	struct frame_type *type = &t->types[f->type];
	const struct frame_mark frame = { f, type };
	const struct timeline_mark m = { .name = &type->instant, .frame = &frame };

	t->view->instant(t->view, frame_type_track(t, f), at, &m);
	t->counts.instants++;
}

static void frame_timeline_put_counter(struct frame_timeline *t, const struct frame_shown *f,
				       size_t cell, const struct cell *v, uint64_t at)
{
	struct timeline_track *track = &t->types[f->type].columns[cell].counter;

	if (!track->id)
		frame_track_show(t, track);
	t->view->counter(t->view, track, at, v);
	t->counts.counters++;
}

/* ---- frames -------------------------------------------------------------- */

static bool frame_timeline_is_time(const struct desc_field *f)
{
	return f && (f->type == DESC_TIME || f->type == DESC_TICKS);
}

/* Times are positions, not values; durations are values if frames are placed by number. */
static bool is_counter(const struct frame_timeline *t, const struct row_cell *cell)
{
	if (!cell->field || cell->count != 1)
		return false;
	return !frame_timeline_is_time(cell->field) || (t->counts.by_number && cell->start);
}

static void frame_timeline_put_counters(struct frame_timeline *t, const struct frame_shown *f,
					uint64_t at)
{
	struct cell v;
	size_t c;

	for (c = 0; c < f->plan->nr_cells; c++) {
		const struct row_cell *cell = &f->plan->cells[c];

		if (!is_counter(t, cell))
			continue;
		row_get(f->plan, cell, 0, f->image, f->ticket, &v);
		if (!cell_is_finite(&v)) /* infinity and NaN cannot be drawn */
			continue;
		frame_timeline_put_counter(t, f, c, &v, at);
	}
}

/* A time that was taken and is not negative. */
static bool frame_timeline_get_time(const struct frame_shown *f, const struct desc_field *field,
				    uint64_t *at)
{
	const struct row_cell cell = { .field = field, .count = 1 };
	struct cell v;

	row_get(f->plan, &cell, 0, f->image, f->ticket, &v);
	*at = (uint64_t)v.i;
	return v.kind == CELL_SIGNED && v.i >= 0;
}

/* Returns the number of intervals; one whose end is before its start becomes an instant. */
static unsigned frame_timeline_put_slices(struct frame_timeline *t, const struct frame_shown *f)
{
	unsigned nr = 0;
	size_t c;

	for (c = 0; c < f->plan->nr_cells; c++) {
		const struct row_cell *cell = &f->plan->cells[c];
		uint64_t from, to;

		if (!cell->start || !frame_timeline_is_time(cell->field) || cell->count != 1)
			continue;
		if (!frame_timeline_get_time(f, cell->start, &from) ||
		    !frame_timeline_get_time(f, cell->field, &to))
			continue;
		nr++;
		if (to < from) {
			frame_timeline_put_instant(t, f, from);
			continue;
		}
		frame_timeline_put_slice(t, f, cell, from, to);
	}
	return nr;
}

static bool first_time(const struct frame_shown *f, uint64_t *at)
{
	size_t c;

	for (c = 0; c < f->plan->nr_cells; c++) {
		const struct row_cell *cell = &f->plan->cells[c];

		if (frame_timeline_is_time(cell->field) && !cell->start &&
		    frame_timeline_get_time(f, cell->field, at))
			return true;
	}
	return false;
}

static void frame_timeline_widen(const struct frame_shown *f, const struct desc_field *field,
				 uint64_t *first, uint64_t *last)
{
	uint64_t at;

	if (!frame_timeline_is_time(field) || !frame_timeline_get_time(f, field, &at))
		return;
	*first = at < *first ? at : *first;
	*last = at > *last ? at : *last;
}

bool frame_timeline_times(const struct frame_shown *f, uint64_t *first, uint64_t *last)
{
	size_t c;

	*first = UINT64_MAX;
	*last = 0;
	for (c = 0; c < f->plan->nr_cells; c++) {
		const struct row_cell *cell = &f->plan->cells[c];

		if (cell->count != 1)
			continue;
		frame_timeline_widen(f, cell->start, first, last);
		frame_timeline_widen(f, cell->field, first, last);
	}
	return *first <= *last;
}

void frame_timeline_frame(struct frame_timeline *t, const struct frame_shown *f)
{
	uint64_t at = f->ticket * FRAME_STEP_NS;

	if (!t->counts.by_number) {
		if (frame_timeline_put_slices(t, f))
			return;
		if (!first_time(f, &at)) {
			t->counts.without_time++;
			return;
		}
	}
	frame_timeline_put_instant(t, f, at);
	frame_timeline_put_counters(t, f, at);
}

/* The time of a mark is CLOCK_MONOTONIC: it matches frames of that clock only. */
void frame_timeline_mark(struct frame_timeline *t, const struct recording_mark *mark)
{
	const struct recfile *file = t->file;
	const struct cell frames = cell_u64(mark->a);
	int clock = desc_clock_id(&file->desc);

	if (mark->kind != RECORDING_LOSS || mark->time_ns > INT64_MAX ||
	    (clock != CLOCK_MONOTONIC && file->desc.time != DESC_COUNTER_CLOCK))
		return;
	if (!t->lost.id)
		frame_track_show(t, &t->lost);
	t->view->counter(t->view, &t->lost,
			 mark->time_ns + (uint64_t)file->info.delta_s * (uint64_t)NS_PER_SEC,
			 &frames);
}

/* ---- beginning and end --------------------------------------------------- */

struct frame_clock frame_timeline_clock(const struct frame_timeline *t)
{
	const struct recording_info *info = &t->file->info;
	struct frame_clock c = { .id = desc_clock_id(&t->file->desc) };
	uint64_t monotonic = info->start_monotonic_ns, realtime = info->start_realtime_ns;

	if (c.id == CLOCK_REALTIME_COARSE)
		c.id = CLOCK_REALTIME;
	else if (c.id != CLOCK_REALTIME && c.id != CLOCK_MONOTONIC_RAW && c.id != CLOCK_BOOTTIME)
		c.id = CLOCK_MONOTONIC;
	/* Times with an offset, and numbers, have no time of day. */
	if (monotonic && realtime && monotonic <= INT64_MAX && realtime <= INT64_MAX &&
	    !info->delta_s && !t->counts.by_number &&
	    (c.id == CLOCK_MONOTONIC || c.id == CLOCK_REALTIME)) {
		c.start = monotonic;
		c.realtime = realtime;
	}
	return c;
}

static bool frame_type_init(struct frame_timeline *t, size_t nr, uint64_t *next)
{
	const struct row_plan *p = &t->plans[nr];
	struct frame_type *type = &t->types[nr];
	size_t c;

	type->columns = calloc(p->nr_cells, sizeof(*type->columns));
	if (!type->columns ||
	    asprintf(&type->name, "%s%s", p->frame->name,
		     t->counts.by_number ? " (by number: 1 us per frame)" : "") < 0)
		return false;
	type->category = (struct timeline_name){ .id = ++*next, .text = p->frame->name };
	type->instant = (struct timeline_name){ .id = ++*next, .text = p->frame->name };
	type->track = (struct frame_track){ .track = { .type = TRACK_FRAMES, .name = type->name },
					    .category = p->frame->name };
	for (c = 0; c < p->nr_cells; c++) {
		const struct desc_field *field = p->cells[c].field;
		struct frame_column *column = &type->columns[c];

		column->key = (struct timeline_name){ .id = ++*next, .text = p->cells[c].name };
		column->slice = (struct timeline_name){ .id = ++*next,
							.text = field ? field->member : "" };
		if (asprintf(&column->name, "%s.%s", p->frame->name, p->cells[c].name) < 0 ||
		    asprintf(&column->group, "%s.%s", p->frame->name, column->slice.text) < 0)
			return false;
		column->counter = (struct timeline_track){ .type = TRACK_FRAME_COUNTER,
							   .name = column->name };
	}
	return true;
}

int frame_timeline_init(struct frame_timeline *t, struct timeline_view *view,
			const struct recfile *file, const struct row_plan *plans)
{
	const struct recording_info *info = &file->info;
	uint64_t next = NR_TIMELINE_WORDS + NR_TIMELINE_KEYS + NR_TIMELINE_CATEGORIES;
	int clock = desc_clock_id(&file->desc);
	bool good;
	size_t i;

	*t = (struct frame_timeline){ .view = view, .file = file, .plans = plans };
	t->counts.by_number = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
	t->process = (struct timeline_track){
		.type = TRACK_PROCESS,
		.pid = info->pid > 0 ? (uint32_t)info->pid : 1,
		.name = info->program ? info->program : file->desc.name,
	};
	t->lost = (struct timeline_track){ .type = TRACK_FRAME_COUNTER, .name = "frames lost" };
	t->types = calloc(file->desc.nr_frames, sizeof(*t->types));
	good = t->types != NULL;
	for (i = 0; good && i < file->desc.nr_frames; i++)
		good = frame_type_init(t, i, &next);
	return good ? 0 : -ENOMEM;
}

void frame_timeline_finish(struct frame_timeline *t)
{
	if (!t->process.id)
		frame_track_show(t, &t->process);
}

void frame_timeline_release(struct frame_timeline *t)
{
	size_t i, c;

	for (i = 0; t->types && i < t->file->desc.nr_frames; i++) {
		for (c = 0; t->types[i].columns && c < t->plans[i].nr_cells; c++) {
			free(t->types[i].columns[c].rows);
			free(t->types[i].columns[c].name);
			free(t->types[i].columns[c].group);
		}
		free(t->types[i].columns);
		free(t->types[i].name);
	}
	free(t->types);
	t->types = NULL;
}

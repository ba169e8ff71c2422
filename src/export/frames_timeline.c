/* SPDX-License-Identifier: MIT */
/* frames_timeline.c - place the frames of a recording on a time line. */
#include "export/frames_timeline.h"

#include <string.h>
#include <time.h>

#include "base/monotonic.h"

void frame_timeline_init(struct frame_timeline *t, const struct frame_view *view,
			 const struct recfile *file)
{
	int clock = desc_clock_id(&file->desc);

	t->view = view;
	t->file = file;
	t->counts = (struct frame_counts){ 0 };
	t->counts.by_number = clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID;
}

const char *frame_timeline_process(const struct frame_timeline *t, uint64_t *pid)
{
	const struct recording_info *info = &t->file->info;

	*pid = info->pid > 0 ? (uint64_t)info->pid : 1;
	return info->program ? info->program : t->file->desc.name;
}

static bool frame_timeline_is_time(const struct desc_field *f)
{
	return f && (f->type == DESC_TIME || f->type == DESC_TICKS);
}

static void frame_timeline_put_instant(struct frame_timeline *t, const struct frame_shown *f,
				       uint64_t at)
{
	t->view->instant(t, f, at);
	t->counts.instants++;
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
		t->view->counter(t, f, cell, &v, at);
		t->counts.counters++;
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
		t->view->slice(t, f, cell, from, to);
		t->counts.slices++;
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
	int clock = desc_clock_id(&file->desc);

	if (mark->kind != RECORDING_LOSS || mark->time_ns > INT64_MAX ||
	    (clock != CLOCK_MONOTONIC && file->desc.time != DESC_COUNTER_CLOCK))
		return;
	t->view->lost(t, mark->a,
		      mark->time_ns + (uint64_t)file->info.delta_s * (uint64_t)NS_PER_SEC);
}

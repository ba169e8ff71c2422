/* SPDX-License-Identifier: MIT */
/* section_time.c - the sections "series" and "lod": the run over time. */
#include <errno.h>
#include <stdlib.h>

#include "view/view_data.h"

/* ---- series ---------------------------------------------------------------- */

static const char *const gauges[] = { "alive", "running", "suspended", "ready" };
static const char *const means[] = { "alive_mean", "running_mean", "suspended_mean", "ready_mean" };
static const char *const counts[] = { "events", "births", "ends", "wakes", "lost" };

static void put_axis(struct json_writer *j, const struct view *v, const struct axis *ax)
{
	jw_field_i64(j, "start", ax->nr ? view_offset(v, axis_start(ax, 0)) : 0);
	jw_field_u64(j, "width", axis_width(ax));
}

static void set_points(struct view_columns *c, const struct series_point *points, size_t nr)
{
	size_t column, i;
	unsigned k;

	for (k = 0; k < NR_SERIES_GAUGES; k++) {
		column = columns_add(c, gauges[k], COLUMN_U32, nr);
		for (i = 0; i < nr; i++)
			columns_set(c, column, i, (double)points[i].at_end[k]);
	}
	for (k = 0; k < NR_SERIES_GAUGES; k++) {
		column = columns_add(c, means[k], COLUMN_F64, nr);
		for (i = 0; i < nr; i++)
			columns_set(c, column, i, points[i].mean[k]);
	}
	for (k = 0; k < NR_SERIES_COUNTS; k++) {
		column = columns_add(c, counts[k], COLUMN_U32, nr);
		for (i = 0; i < nr; i++)
			columns_set(c, column, i, (double)points[i].counts[k]);
	}
}

int section_series(struct view *v, struct bytes *out)
{
	struct view_columns c;
	size_t nr;
	struct series_point *points = series_points(&v->series, v->end_ts, &nr);

	if (!points)
		return -ENOMEM;
	columns_begin(&c);
	put_axis(&c.header, v, &v->series.axis);
	jw_field_i64(&c.header, "end", view_offset(v, v->end_ts));
	set_points(&c, points, nr);
	free(points);
	return columns_end(&c, nr, out);
}

void series_put_points(struct json_writer *j, const struct series_point *points, size_t from,
		       size_t nr)
{
	unsigned k;
	size_t i;

	jw_array_begin(j);
	for (i = from; i < nr; i++) {
		jw_array_begin(j);
		for (k = 0; k < NR_SERIES_GAUGES; k++)
			jw_u64(j, points[i].at_end[k]);
		for (k = 0; k < NR_SERIES_GAUGES; k++)
			jw_double(j, points[i].mean[k]);
		for (k = 0; k < NR_SERIES_COUNTS; k++)
			jw_u64(j, points[i].counts[k]);
		jw_array_end(j);
	}
	jw_array_end(j);
}

/* ---- levels of detail -------------------------------------------------------- */

/* Coarser levels are not useful on any screen. */
#define COARSEST 64

struct cells {
	struct bytes busy, switches, coro;
	size_t nr;
};

static void add_level(struct cells *to, const struct lod *lod)
{
	size_t t, i;

	for (t = 0; t < lod->nr_threads; t++) {
		for (i = 0; i < lod->axis.nr; i++) {
			const struct lod_cell *cell = &lod->threads[t][i];
			uint8_t busy = lod_busy(lod, cell);

			bytes_add(&to->busy, &busy, 1);
			bytes_add_varint(&to->switches, cell->switches);
			bytes_add_varint(&to->coro, cell->coro);
		}
	}
	to->nr += lod->nr_threads * lod->axis.nr;
}

static void section_put_level(struct json_writer *j, const struct view *v, const struct lod *lod,
			      size_t row)
{
	jw_object_begin(j);
	put_axis(j, v, &lod->axis);
	jw_field_u64(j, "count", lod->axis.nr);
	jw_field_u64(j, "row", row);
	jw_object_end(j);
}

/* Coroutines that run now are not in the levels of detail yet. */
static int add_open_slices(struct view *v, struct lod *lod)
{
	size_t i;

	for (i = 0; i < v->records.nr; i++) {
		const struct view_record *rec = &v->records.all[i];
		int rc = 0;

		if (rec->slice_number)
			rc = lod_add(lod, rec->slice.thread, rec->slice.start, v->end_ts,
				     rec->number);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* Write every level of @lod.  Leaves @lod at its coarsest level. */
static void put_levels(struct view *v, struct lod *lod, unsigned skip, struct cells *cells,
		       struct json_writer *j)
{
	jw_array_begin(j);
	while (skip-- && lod->axis.nr > COARSEST)
		lod_merge(lod);
	for (;;) {
		section_put_level(j, v, lod, cells->nr);
		add_level(cells, lod);
		if (lod->axis.nr <= COARSEST)
			break;
		lod_merge(lod);
	}
	jw_array_end(j);
}

int section_lod(struct view *v, unsigned skip, struct bytes *out)
{
	struct cells cells = { .nr = 0 };
	struct view_columns c;
	struct lod lod;
	int rc = lod_copy(&lod, &v->lod), ended;

	if (rc < 0)
		return rc;
	rc = add_open_slices(v, &lod);
	columns_begin(&c);
	jw_field_u64(&c.header, "threads", lod.nr_threads);
	jw_key(&c.header, "levels");
	put_levels(v, &lod, skip, &cells, &c.header);
	columns_add_bytes(&c, "busy", COLUMN_U8, &cells.busy, cells.nr);
	columns_add_bytes(&c, "switches", COLUMN_V, &cells.switches, cells.nr);
	columns_add_bytes(&c, "coro", COLUMN_V, &cells.coro, cells.nr);
	ended = columns_end(&c, cells.nr, out);
	bytes_release(&cells.busy);
	bytes_release(&cells.switches);
	bytes_release(&cells.coro);
	lod_release(&lod);
	return rc ? rc : ended;
}

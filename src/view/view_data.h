/* SPDX-License-Identifier: MIT */
/* view_data.h - what a view consists of: for the files that make its sections. */
#ifndef VIEW_VIEW_DATA_H
#define VIEW_VIEW_DATA_H

#include <math.h>
#include <stdio.h>

#include "analyze/report.h"
#include "base/json_writer.h"
#include "view/columns.h"
#include "view/lod.h"
#include "view/records.h"
#include "view/series.h"
#include "view/spool.h"
#include "view/view.h"

/* Behind the last thread that is told apart. */
#define VIEW_OTHER_THREADS LOD_THREADS

struct view_thread {
	uint64_t slices, busy;
};

/* Something that was left out. */
struct view_thinned {
	const char *what; /* "slices" */
	uint64_t kept, of;
	char text[256];
};
#define VIEW_THINNED_MAX 8

/* Who has not asked for so many ticks gets everything anew. */
#define VIEW_TICKS_KEPT 256

struct view {
	struct view_options options;
	struct analysis *analysis;
	struct symbols *symbols;
	struct records records;
	struct series series;
	struct lod lod;
	struct spool spool;
	struct view_thread *threads; /* by the model's number, VIEW_OTHER_THREADS + 1 of them */

	uint64_t tick;
	uint64_t origin, end_ts;
	bool has_origin, finished;
	bool peeking; /* findings are of now, not for good */
	struct trace_stats stats;

	struct bytes report;  /* JSON, as of the last tick */
	uint64_t report_tick; /* when it last changed */
	uint32_t *site_findings;
	size_t nr_site_findings;

	uint32_t names_at[VIEW_TICKS_KEPT]; /* how many names there were, by tick */
	struct err err; /* of the temporary file, met while an event was added */
};

/* The model observes; arg is the view. */
int view_told(void *arg, const struct coro *co, const struct trace_event *ev, bool taken);

/* Events that a gap tells of. */
void view_gap(struct view *v, const struct trace_gap *gap);

/* From the origin on. */
static inline int64_t view_offset(const struct view *v, uint64_t ts)
{
	return (int64_t)(ts - v->origin);
}

/* The same; NaN where nothing was told. */
static inline double view_time(const struct view *v, uint64_t ts)
{
	return ts ? (double)view_offset(v, ts) : NAN;
}

static inline const struct model *view_model(const struct view *v)
{
	return &v->analysis->model;
}

struct report view_report(const struct view *v);

/* As many as are told apart. */
size_t view_nr_threads(const struct view *v);

/* ---- sections: what they hold, added to @out; 0 or -ENOMEM ---------------------- */

/* @thinned NULL: as the view has it. */
int section_meta(struct view *v, const struct view_thinned *thinned, size_t nr_thinned,
		 struct bytes *out);
/* What a view itself leaves out when @kept coroutines are listed, in @out; how many that are. */
size_t view_thinned(const struct view *v, size_t kept, struct view_thinned *out);

/* With what was left out; the other as the view has it. */
void view_put_own_meta(struct json_writer *j, const struct view *v);
void view_put_meta(struct json_writer *j, const struct view *v, const struct view_thinned *thinned,
		   size_t nr_thinned);
/* "thinned": [ ... ] */
void view_put_thinned(struct json_writer *j, const struct view_thinned *thinned, size_t nr);

int section_series(struct view *v, struct bytes *out);
int section_lod(struct view *v, unsigned skip, struct bytes *out); /* without the @skip finest */
int section_sites(struct view *v, struct bytes *out);
int section_strings(struct view *v, struct bytes *out);

/* The @max most remarkable; *@kept is how many there are. */
int section_coros(struct view *v, size_t max, struct bytes *out, size_t *kept);

/* A block as the bundle has it, and its line in the index. */
struct view_block {
	uint64_t from, last, to;
	uint32_t nr, of;
	uint8_t coros[SPOOL_BITS / 8];
};
/* @keep: a bit per slice of the trace, it stays; NULL: all do. */
int section_slices(struct view *v, size_t block, const uint8_t *keep, struct bytes *out,
		   struct view_block *line, struct err *err);
int section_index(struct view *v, const struct view_block *lines, size_t nr, struct bytes *out);

/* A coroutine's row as JSON, for deltas. */
void coros_put_names(struct json_writer *j);
void coros_put_row(const struct view *v, const struct record *rec, struct json_writer *j);

void series_put_points(struct json_writer *j, const struct series_point *points, size_t from,
		       size_t nr);

/* jw into @out. */
int view_take_json(struct json_writer *j, struct bytes *out);

#endif

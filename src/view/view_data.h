/* SPDX-License-Identifier: MIT */
/* view_data.h - the internal data of a view, for the files that build its sections. */
#ifndef VIEW_VIEW_DATA_H
#define VIEW_VIEW_DATA_H

#include <math.h>
#include <stdio.h>

#include "analyze/report.h"
#include "base/json_writer.h"
#include "view/column_encoder.h"
#include "view/frame_sample.h"
#include "view/hold_log.h"
#include "view/mipmap.h"
#include "view/records.h"
#include "view/series.h"
#include "view/slice_cpu.h"
#include "view/slice_store.h"
#include "view/view.h"

/* Index that all threads beyond LOD_THREADS share. */
#define VIEW_OTHER_THREADS LOD_THREADS

struct view_thread {
	uint64_t slices, busy;
};

/* Data that was omitted. */
struct view_thinned {
	const char *what; /* "slices" */
	uint64_t kept, of;
	char text[256];
};
#define VIEW_THINNED_MAX 8

/* A client that lags more than this many ticks gets everything again. */
#define VIEW_TICKS_KEPT 256

struct view {
	struct view_options options;
	struct analysis *analysis;
	struct symbols *symbols;
	struct records records;
	struct series series;
	struct lod lod;
	struct spool spool;
	struct slice_cpu cpu;
	struct frame_sample frames;
	struct hold_log holds;
	struct trace_parts parts;    /* of a merged trace */
	struct view_thread *threads; /* by the model's number; VIEW_OTHER_THREADS + 1 entries */

	uint64_t tick;
	uint64_t origin, end_ts;
	bool has_origin, finished;
	bool peeking; /* findings are temporary, of this tick */
	struct trace_stats stats;

	struct view_stream stream;
	uint64_t gap_lost; /* events of all gaps so far */

	struct bytes report;  /* JSON, as of the last tick */
	uint64_t report_tick; /* tick of its last change */
	uint32_t *site_findings;
	size_t nr_site_findings;
	/* By place: its address in the trace.  The model clears that of a place of a kind. */
	uint64_t *addresses;
	size_t addresses_room;

	uint32_t names_at[VIEW_TICKS_KEPT]; /* number of names, by tick */
	struct err err;                     /* of the temporary file, while an event was added */
};

/* Observer of the model; @arg is the view. */
int view_told(void *arg, const struct coro *co, const struct trace_event *ev, bool taken);

/* Count the lost events of a gap. */
void view_gap(struct view *v, const struct trace_gap *gap);

/* Time relative to the origin. */
static inline int64_t view_offset(const struct view *v, uint64_t ts)
{
	return (int64_t)(ts - v->origin);
}

/* As view_offset(); NaN if @ts was not recorded. */
static inline double view_time(const struct view *v, uint64_t ts)
{
	return ts ? (double)view_offset(v, ts) : NAN;
}

static inline const struct model *view_model(const struct view *v)
{
	return &v->analysis->model;
}

struct report view_report(const struct view *v);

/* Number of threads with their own index. */
size_t view_nr_threads(const struct view *v);

/* ---- sections: appended to @out; 0 or -ENOMEM ----------------------------------- */

/* @thinned NULL: what the view itself omits. */
int section_meta(struct view *v, const struct view_thinned *thinned, size_t nr_thinned,
		 struct bytes *out);
/*
 * Describe in @out what the view omits if @kept coroutines are listed; returns the number of
 * entries.
 */
size_t view_thinned(const struct view *v, size_t kept, struct view_thinned *out);

/* view_put_own_meta() lists what the view itself omits, view_put_meta() lists @thinned. */
void view_put_own_meta(struct json_writer *j, const struct view *v);
void view_put_meta(struct json_writer *j, const struct view *v, const struct view_thinned *thinned,
		   size_t nr_thinned);
/* "thinned": [ ... ] */
void view_put_thinned(struct json_writer *j, const struct view_thinned *thinned, size_t nr);

int section_series(struct view *v, struct bytes *out);
int section_lod(struct view *v, unsigned skip, struct bytes *out); /* omits @skip finest levels */
int section_sites(struct view *v, struct bytes *out);
int section_strings(struct view *v, struct bytes *out);

/* The @max most remarkable coroutines; *@kept is their number. */
int section_coros(struct view *v, size_t max, struct bytes *out, size_t *kept);

/* A block as stored in the bundle, and its line in the index. */
struct view_block {
	uint64_t from, last, to;
	uint32_t nr, of;
	uint8_t coros[SPOOL_BITS / 8];
};
/* @keep: one bit per slice of the trace, set if kept; NULL: keep all. */
int section_slices(struct view *v, size_t block, const uint8_t *keep, struct bytes *out,
		   struct view_block *line, struct err *err);
int section_index(struct view *v, const struct view_block *lines, size_t nr, struct bytes *out);

/* A coroutine's row as JSON, for deltas. */
void coros_put_names(struct json_writer *j);
void coros_put_row(const struct view *v, const struct view_record *rec, struct json_writer *j);

void series_put_points(struct json_writer *j, const struct series_point *points, size_t from,
		       size_t nr);

/* Append the text of @j to @out and release @j. */
int view_take_json(struct json_writer *j, struct bytes *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * view.h - the data of the dashboard for a finished or growing trace.
 *
 *	struct view *v = view_new(&options);
 *
 *	while (trace_next(reader, &item, &err) > 0)
 *		view_add(v, &item, &err);
 *	view_finish(v, trace_reader_stats(reader), &err);
 *	view_section(v, "coros", &bytes, &err);
 *
 * and for a trace that is still being written
 *
 *	view_add(v, &item, &err) for each item, then from time to time
 *	view_tick(v, trace_reader_stats(reader), now_ts, &err);
 *	view_delta(v, since, &bytes, &err);
 *
 * Sections are described in docs/view-format.md.  Memory grows with the coroutines that are kept
 * (view_options.coros_max, and all that are alive), not with the events: slices beyond the last
 * 32,768 are in an unnamed temporary file.
 *
 * Not thread-safe: a caller with several threads must lock around each call.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/trace_reader.h"
#include "base/bytes.h"

#define VIEW_COROS_MAX     200000u
#define VIEW_FINDING_COROS 100u /* listed coroutines of a finding */

struct view_options {
	const char *trace;   /* name for the page; must outlive the view */
	uint64_t min_age_ns; /* as in analysis_options; 0: default */
	size_t coros_max;    /* listed coroutines; 0: VIEW_COROS_MAX */
	/* As in analysis_options: only these coroutines have rows and slices. */
	const struct u64map *chosen;
	const char *chosen_text;
};

/* How a growing trace is read; set by its reader, for the page. */
struct view_stream {
	/* Left out to keep up: transitions, wakes, and the time that they cover. */
	uint64_t left_out, left_out_wakes, left_out_ns;
	bool rereads; /* the run is over, and the whole trace is read once more */
	/* The collector: does it answer?  Since when it does not; what it has lost so far. */
	bool collector_known;
	uint64_t silent_ns; /* 0: it answers */
	uint64_t lost;
};

struct view;

/* NULL: no memory. */
struct view *view_new(const struct view_options *options);

/* 0 or a negative errno with a message in @err: no memory, or no space for the temporary file. */
int view_add(struct view *v, const struct trace_item *item, struct err *err);

/* The trace is complete: findings become final.  @stats is copied. */
int view_finish(struct view *v, const struct trace_stats *stats, struct err *err);

/*
 * Update a growing trace to its state at @now_ts (CLOCK_MONOTONIC; 0: at the last event), with the
 * findings that are true then.  Sections and deltas show the last tick.  Each call is a tick,
 * numbered from 1.
 */
int view_tick(struct view *v, const struct trace_stats *stats, uint64_t now_ts, struct err *err);

void view_set_stream(struct view *v, const struct view_stream *stream);

/* Events that the caller did not add, to keep up; counted by the caller in view_stream. */
void view_leave_out(struct view *v, const struct trace_gap *gap);

/* Number the next tick after @tick: this view replaces another one. */
void view_continue(struct view *v, uint64_t tick);

/* The number of the last tick; view_finish() counts as a tick, too. */
uint64_t view_ticks(const struct view *v);

/* Append the uncompressed section @name ("meta", "slices/3") to @out.  -ENOENT: unknown section. */
int view_section(struct view *v, const char *name, struct bytes *out, struct err *err);

/* What changed since tick @since (0: everything), as one JSON object without newlines. */
int view_delta(struct view *v, uint64_t since, struct bytes *out, struct err *err);

/* As of the last tick; without the path of the sidecar. */
const struct trace_stats *view_stats(const struct view *v);

/* Accepts NULL. */
void view_free(struct view *v);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * view.h - what the dashboard shows of a trace, finished or still growing.
 *
 *	struct view *v = view_new(&options);
 *
 *	while (trace_next(reader, &item, &err) > 0)
 *		view_add(v, &item, &err);
 *	view_finish(v, trace_reader_stats(reader), &err);
 *	view_section(v, "coros", &bytes, &err);
 *
 * and of a trace that is still being written
 *
 *	view_add(v, &item, &err) as they come, then now and then
 *	view_tick(v, trace_reader_stats(reader), now_ts, &err);
 *	view_delta(v, since, &bytes, &err);
 *
 * Sections are as docs/view-format.md has them.  Memory follows the coroutines that are kept
 * (view_options.coros_max, and all that are alive), not the events: slices beyond the last
 * 32,768 are in a temporary file without a name.
 *
 * Not for two threads at a time: whoever has several locks around each call.
 */
#ifndef VIEW_VIEW_H
#define VIEW_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/reader.h"
#include "base/bytes.h"

#define VIEW_COROS_MAX 200000u

struct view_options {
	const char *trace;   /* its name, for the page; must outlive the view */
	uint64_t min_age_ns; /* as analysis_options has it; 0: as usual */
	size_t coros_max;    /* listed; 0: VIEW_COROS_MAX */
};

struct view;

/* NULL without memory. */
struct view *view_new(const struct view_options *options);

/* 0 or a negative errno, with words: no memory, or no room for the temporary file. */
int view_add(struct view *v, const struct trace_item *item, struct err *err);

/* The trace is over: findings are final. @stats are copied. */
int view_finish(struct view *v, const struct trace_stats *stats, struct err *err);

/*
 * The trace goes on: how it is at @now_ts (CLOCK_MONOTONIC; 0: at the last event) with the
 * findings that are true then.  Sections and deltas show the last tick.  Each call is a tick,
 * numbered from 1 on.
 */
int view_tick(struct view *v, const struct trace_stats *stats, uint64_t now_ts, struct err *err);

/* The number of the last tick; view_finish() is one, too. */
uint64_t view_ticks(const struct view *v);

/*
 * The section @name ("meta", "slices/3"), not compressed, added to @out.  -ENOENT: there is no
 * such section.
 */
int view_section(struct view *v, const char *name, struct bytes *out, struct err *err);

/* What changed since tick @since (0: everything), one JSON object without a newline in it. */
int view_delta(struct view *v, uint64_t since, struct bytes *out, struct err *err);

/* As of the last tick; without the path of the sidecar. */
const struct trace_stats *view_stats(const struct view *v);

/* Accepts NULL. */
void view_free(struct view *v);

/* ---- compressed ----------------------------------------------------------- */

/* gzip, with no time and no name in it: the same bytes give the same. */
int view_gzip(const struct bytes *in, struct bytes *out, struct err *err);

/* ---- the page ------------------------------------------------------------- */

/* Where the sections go in; once in the page. */
#define VIEW_PAGE_MARK "<!--corotracer-data-->"

/* The page that was built in; NULL and words if there is none (WITH_WEB=OFF). */
const unsigned char *view_page(size_t *size, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * diff_profile.h - what one side of a comparison recorded, run by run: the durations at each site,
 * the coroutines of each kind, the strong findings.
 *
 * Memory grows with the sites and the kinds, not with the events.
 */
#ifndef ANALYZE_DIFF_PROFILE_H
#define ANALYZE_DIFF_PROFILE_H

#include "analyze/diff_stats.h"
#include "analyze/report.h"

enum diff_metric {
	DIFF_WAIT,  /* suspended at the site */
	DIFF_READY, /* of that: from the wake to the resume */
	DIFF_RUN,   /* running, before the suspension at the site */
	NR_DIFF_METRICS,
};

/* A site. Two builds have it at different lines, and in different folders. */
struct diff_site {
	char *file;     /* last component of the path; "" if unknown */
	char *function; /* or the text of a place without a function */
	char *text;     /* as printed */
	char *path;     /* as recorded; "" if unknown */
	uint32_t line;
	struct histogram *runs; /* NR_DIFF_METRICS for each run */
};

/* A kind of coroutine, or a finding: a text, and a number per run. */
struct diff_row {
	char *text;           /* as printed */
	const char *detector; /* of a finding; "" for a kind */
	uint64_t runs[DIFF_RUNS_MAX];
};

struct diff_rows {
	struct diff_row *all;
	size_t nr, room;
	struct strtab keys; /* without lines; a key has the number of its row */
};

/* The row of a key; NULL: none. */
const struct diff_row *diff_row_find(const struct diff_rows *rows, const char *key);

struct diff_profile {
	size_t nr_runs, room_runs; /* room: given to diff_profile_init() */
	struct diff_site *sites;
	size_t nr_sites, sites_room;
	struct u64map site_numbers; /* key to 1 + index */
	struct diff_rows kinds;     /* coroutines alive at the end */
	struct diff_rows findings;  /* groups that are at least strong */
	struct strtab texts;        /* keys */
};

/* @max_runs: up to DIFF_RUNS_MAX. */
void diff_profile_init(struct diff_profile *p, size_t max_runs);

/* Add a finished analysis as the next run.  0 or -ENOMEM. */
int diff_profile_add(struct diff_profile *p, const struct report *r);

/* Sort the sites by file, function and line: call after the last run. */
void diff_profile_sort(struct diff_profile *p);

/* The durations of one run at a site. */
static inline struct histogram *diff_site_runs(const struct diff_site *s, size_t run,
					       enum diff_metric metric)
{
	return &s->runs[run * NR_DIFF_METRICS + metric];
}

void diff_profile_release(struct diff_profile *p);

#endif

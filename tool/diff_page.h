/* SPDX-License-Identifier: MIT */
/*
 * diff_page.h - `corotracer diff --html`: a comparison as one page for a browser.
 *
 * The page has the numbers of `diff --json`, and besides: every site with its histograms, totals of
 * each run, and the time of both sides by stack, as `export folded` has it.
 */
#ifndef TOOL_DIFF_PAGE_H
#define TOOL_DIFF_PAGE_H

#include "analyze/diff.h"
#include "base/err.h"
#include "export/state_profile.h"
#include "export/time_diff.h"

struct diff_page_run {
	struct report_totals totals;
	enum trace_verdict verdict;
	uint64_t findings; /* groups of faults that are at least strong */
};

struct diff_page {
	struct time_diff times;
	struct diff_page_run runs[NR_TIME_SIDES][DIFF_RUNS_MAX];
	size_t nr_runs[NR_TIME_SIDES];
	uint64_t left_out; /* events that the stacks could not represent */
	uint64_t unknown;  /* states that no event ended */
};

/* Negative if this build has no pages: to be called before a long trace is read. */
int diff_page_check(struct err *err);

/*
 * The times of a trace, if the items that the comparison reads are not all of them: @filter cuts
 * states, and needs what came before.
 */
int diff_page_read_times(const char *trace, const struct trace_filter *filter,
			 struct state_profile *times, struct err *err);

/* Add a run: its finished analysis, and its times, after the last item.  0 or -ENOMEM. */
int diff_page_add_run(struct diff_page *page, enum time_side side, const struct report *r,
		      struct state_profile *times);

/* Write the page to @path ("-": standard output), after diff_compare(). */
int diff_page_save(struct diff_page *page, const struct diff *d, const struct diff_form *form,
		   const char *path, struct err *err);

void diff_page_release(struct diff_page *page);

#endif

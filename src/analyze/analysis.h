/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - a finished trace goes in item by item, findings come out.
 *
 *	struct analysis *a = analysis_new(&options);
 *
 *	while (trace_next(reader, &item, &err) > 0)
 *		analysis_add(a, &item);
 *	analysis_finish(a);
 *	... a->findings ...
 *	analysis_free(a);
 */
#ifndef ANALYZE_ANALYSIS_H
#define ANALYZE_ANALYSIS_H

#include "analyze/detector.h"
#include "analyze/finding.h"
#include "analyze/model.h"
#include "analyze/reorder.h"
#include "analyze/sites.h"
#include "trace/summary.h"

/* Detectors that look at every suspend, or at every resume; and a NULL behind them. */
#define ANALYSIS_HOOKS 64

struct analysis_options {
	uint64_t min_age_ns; /* younger suspensions are nothing unusual; 0: one second */
	bool of_a_test;      /* nobody should be left when the program ends */
};

struct analysis {
	struct analysis_options options;
	struct model model;
	struct sites sites;
	struct trace_summary facts; /* run, processes, totals, gaps: no events */
	struct findings findings;
	struct reorder reorder; /* for traces in no order */
	/* Those of the table that look at every transition: gathered once, since it is so often. */
	transition_hook *on_suspend[ANALYSIS_HOOKS], *on_resume[ANALYSIS_HOOKS];
};

/* NULL without memory. */
struct analysis *analysis_new(const struct analysis_options *options);

/* 0 or -ENOMEM. */
int analysis_add(struct analysis *a, const struct trace_item *item);
int analysis_finish(struct analysis *a);

/* Accepts NULL. */
void analysis_free(struct analysis *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - a finished trace goes in item by item, findings come out.
 *
 *	struct analysis *a = analysis_new(&options);
 *
 *	while (trace_next(reader, &item, &err) > 0)
 *		analysis_add(a, &item);
 *	analysis_finish(a, trace_reader_stats(reader));
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
#include "symbols/symbols.h"
#include "trace/reader.h"
#include "trace/summary.h"

/* Called for each finding, with the coroutine as it is (NULL: of the program as a whole). */
struct analysis_observer {
	void (*found)(void *arg, const struct finding *finding);
	void *arg;
};

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
	struct symbols *symbols;    /* set by who has them; may be NULL */
	struct trace_summary facts; /* run, processes, totals, gaps: no events */
	struct findings findings;
	const char *doubt;                 /* of all findings that need events; NULL: none */
	struct reorder reorder;            /* for traces in no order */
	struct analysis_observer observer; /* set by who wants it; found may be NULL */
	/* Those of the table that look at every transition: gathered once, since it is so often. */
	transition_hook *on_suspend[ANALYSIS_HOOKS], *on_resume[ANALYSIS_HOOKS];
};

/* NULL without memory. */
struct analysis *analysis_new(const struct analysis_options *options);

/* 0 or -ENOMEM. */
int analysis_add(struct analysis *a, const struct trace_item *item);

/* After the last item.  @stats is the reader's, which say what is missing; NULL: nothing is. */
int analysis_finish(struct analysis *a, const struct trace_stats *stats);

/* Part of the finish: addresses become places of the source, or none.  0 or -ENOMEM. */
int analysis_settle(struct analysis *a);

/*
 * The findings as they are now, though the trace goes on: while @look runs, the analysis reads
 * as if it had been finished at @now_ts (or with the last event, if that is later).  What comes
 * afterwards is as if nobody had looked.  What @look returns, or -ENOMEM.
 *
 * Transitions that are held back to be put in order (traces of other tools) are not in yet.
 */
int analysis_peek(struct analysis *a, uint64_t now_ts, int (*look)(void *arg), void *arg);

/* Accepts NULL. */
void analysis_free(struct analysis *a);

#endif

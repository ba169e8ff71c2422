/* SPDX-License-Identifier: MIT */
/*
 * analysis.h - turn the items of a finished trace into findings.
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

#include "analyze/cpu_samples.h"
#include "analyze/switch_times.h"
#include "analyze/descriptor_facts.h"
#include "analyze/waiting_facts.h"
#include "analyze/detector.h"
#include "analyze/finding.h"
#include "analyze/model.h"
#include "analyze/reorder.h"
#include "analyze/runs.h"
#include "analyze/scheduling.h"
#include "analyze/sites.h"
#include "analyze/slice_watch.h"
#include "symbols/symbols.h"
#include "trace/trace_reader.h"
#include "trace/summary.h"

/*
 * Called for each finding, with the current state of the coroutine (NULL: the finding is about the
 * whole program).
 */
struct analysis_observer {
	void (*found)(void *arg, const struct finding *finding);
	void *arg;
};

/* Capacity for the detectors that check every suspend, or every resume, and a terminating NULL. */
#define ANALYSIS_HOOKS 64

struct analysis_options {
	uint64_t min_age_ns; /* ignore shorter suspensions; 0: one second */
	bool of_a_test;      /* no coroutine should be left when the program ends */
	/*
	 * Report findings of these coroutines only, by id; NULL: all findings.  All events are
	 * analyzed.  Owned by the caller.
	 */
	const struct u64map *chosen;
	size_t nr_parts;         /* of a merged trace that is judged as one program: a caveat */
	const char *chosen_text; /* a sentence that says which: a caveat of the report */
};

/* A coroutine whose rhythm has stopped, for comparison with others. */
struct stopped_coro {
	uint64_t id, since_ts;
	uint64_t usual_ns; /* of its earlier waits, at most 20 ms */
	uint32_t pid, name;
};

#define ANALYSIS_STOPPED 64

struct analysis {
	struct analysis_options options;
	struct model model;
	struct scheduling scheduling;
	struct cpu_samples cpu;
	struct switch_times switches;
	struct descriptor_facts descriptors;
	struct waiting_facts waiting;
	struct slice_watch slices;
	unsigned runners_looked_at; /* by the detector of coroutines that never yield */
	bool no_memory;             /* a hook could not store what it saw */
	struct sites sites;
	struct symbols *symbols;    /* set by the caller; may be NULL */
	struct trace_summary facts; /* run, processes, totals, gaps; without events */
	struct findings findings;
	bool has_evidence; /* set by the detector of lost wakeups: one is evident */
	struct stopped_coro stopped[ANALYSIS_STOPPED]; /* likewise */
	unsigned nr_stopped;
	bool is_asleep;         /* set by the detector of stalled programs */
	uint32_t *settled_into; /* by place: the place it was merged into by analysis_settle() */
	size_t nr_settled_into;
	const char *doubt;      /* applies to all findings that need events; NULL: none */
	struct reorder reorder; /* for traces that are not in order */
	struct runs runs;       /* likewise: they may hold several runs */
	struct analysis_observer observer; /* set by the caller; found may be NULL */
	/* Hooks of the detectors that check every transition, collected once: this path is hot. */
	transition_hook *on_suspend[ANALYSIS_HOOKS], *on_resume[ANALYSIS_HOOKS];
};

/* True if findings of the coroutine with this id are reported. */
static inline bool analysis_chooses(const struct analysis *a, uint64_t probe_id)
{
	uint64_t unused;

	return !a->options.chosen || u64map_get(a->options.chosen, probe_id, &unused);
}

/* NULL: no memory. */
struct analysis *analysis_new(const struct analysis_options *options);

/* 0 or -ENOMEM. */
int analysis_add(struct analysis *a, const struct trace_item *item);

/*
 * The caller left out the events of @gap to keep up with a growing trace: findings that need them
 * are in doubt, as if they were lost; they are not counted as lost.
 */
void analysis_leave_out(struct analysis *a, const struct trace_gap *gap);

/*
 * Call after the last item.  @stats comes from the reader and says what is missing; NULL: nothing
 * is missing.
 */
int analysis_finish(struct analysis *a, const struct trace_stats *stats);

/*
 * Part of analysis_finish(): resolve addresses to source locations, where possible. 0 or -ENOMEM.
 */
int analysis_settle(struct analysis *a);

/* For runs.c: add a transition in order; give those held back for that; judge a run at its end. */
int analysis_order(struct analysis *a, const struct trace_event *ev);
int analysis_flush(struct analysis *a);
int analysis_end_run(struct analysis *a);

/* Undo analysis_settle(), except for findings. */
void analysis_unsettle(struct analysis *a);

/* The place that @place was merged into, for places noted during the trace. */
uint32_t analysis_place(const struct analysis *a, uint32_t place);

/*
 * Show the findings of a trace that is still growing: while @look runs, the analysis reads as if it
 * had been finished at @now_ts (or at the last event, if that is later).  Afterwards the analysis
 * continues unchanged.  Returns the result of @look, or -ENOMEM.
 *
 * Transitions that are held back for sorting (traces of other tools) are not included yet.
 */
int analysis_peek(struct analysis *a, uint64_t now_ts, int (*look)(void *arg), void *arg);

/* Accepts NULL. */
void analysis_free(struct analysis *a);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * summary.h - summary of a trace, collected item by item.
 *
 * Memory is per live coroutine, per thread and per site, never per event.  Add the items in the
 * order in which trace_next() returns them.
 */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/u64map.h"
#include "trace/coro_table.h"
#include "trace/event.h"
#include "trace/item.h"
#include "trace/leftover.h"

#define SUMMARY_WORST     10
#define SUMMARY_PROCESSES 64
#define SUMMARY_ALIVE     10
/* Number of distinct names; further names are only counted. */
#define SUMMARY_NAMES 65536

/* A coroutine that lost events. */
struct summary_worst {
	uint64_t station; /* TRACE_NO_STATION: none */
	uint64_t probe_id, written, collected, lost;
	char *name; /* NULL: it has none, or the name is not known any more */
};

/* A coroutine that had not ended at the end of the run. */
struct summary_alive {
	uint64_t probe_id;
	char *name; /* NULL: it has none */
	struct summary_last last;
};

/* A coroutine that has not been destroyed. */
struct summary_coro {
	struct coro_state life;
	struct summary_last last; /* without ts and state, which life has */
};

/* Missing events of the lane of one thread. */
struct summary_gaps {
	uint32_t lane; /* TRACE_LANE_STATIONS: of the stations */
	uint32_t pid;
	uint64_t tid;
	uint64_t gaps, transitions, others;
};

/* All zero is an empty summary. */
struct trace_summary {
	/* from the events */
	uint64_t events;                /* transitions */
	uint64_t others;                /* all others */
	uint64_t kinds[NR_TRACE_KINDS]; /* both, by kind */
	uint64_t first_ts, last_ts;     /* valid if there are events */
	struct coro_table coroutines;   /* entries: struct summary_coro */
	struct u64map threads;
	uint64_t nr_ended; /* coroutines, according to their events */

	/* from gaps, by thread */
	struct u64map gap_numbers; /* tid and lane to 1 + the number */
	struct summary_gaps *gaps;
	size_t nr_gaps, gaps_room;

	/* from facts */
	bool has_run, has_totals;
	struct sidecar_run run; /* its strings are copies */
	struct sidecar_totals totals;
	uint64_t nr_processes;
	struct sidecar_process processes[SUMMARY_PROCESSES]; /* the first ones */
	uint64_t nr_described;                               /* coroutines that have a fact */
	uint64_t nr_in_stations;                             /* of these */
	uint64_t nr_dead;                                    /* of these: reported as dead */
	uint64_t nr_named, nr_losers, nr_garbage;
	unsigned nr_alive; /* valid entries of alive: not ended, longest suspended first */
	struct summary_alive alive[SUMMARY_ALIVE];
	struct leftovers leftovers; /* all of them, by site */
	unsigned nr_worst;
	struct summary_worst worst[SUMMARY_WORST]; /* most lost first */
	struct strtab names;
	struct u64map name_counts; /* number in names to coroutines */
	uint64_t nr_unnamed;       /* names beyond SUMMARY_NAMES */
	struct strtab places;      /* "file:line function" */
	struct u64map sites;       /* id to 1 + the number in places */
};

/* Returns 0 or -ENOMEM. */
int summary_add(struct trace_summary *s, const struct trace_item *item);

/* Number of coroutines that were created and that ended, from events and facts. */
uint64_t summary_born(const struct trace_summary *s);
uint64_t summary_ended(const struct trace_summary *s);

/* "container_file.c:12 function"; NULL: not reported. */
const char *summary_place(const struct trace_summary *s, uint32_t site);

/* The same by the number of the source location, as leftovers store it. */
const char *summary_place_text(const struct trace_summary *s, uint64_t place);

/*
 * Stores the indexes in @s->names of the @max most frequent names, most frequent first.
 * Returns their number.
 */
size_t summary_top_names(const struct trace_summary *s, size_t *numbers, size_t max);

/*
 * Stores the indexes in @s->gaps of the @max lanes that lost most, most first.  Returns their
 * number.
 */
size_t summary_top_gaps(const struct trace_summary *s, size_t *numbers, size_t max);

/* Time from @ts to the end of the run or to the last event, whichever is later. */
uint64_t summary_age_ns(const struct trace_summary *s, uint64_t ts);

uint64_t summary_duration_ns(const struct trace_summary *s);

void summary_release(struct trace_summary *s);

#endif

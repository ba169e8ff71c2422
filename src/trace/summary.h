/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what is in a trace, gathered item by item.
 *
 * Memory is per coroutine that is alive, per thread and per site, never per event.  Feed
 * it the items in the order in which trace_next() gives them.
 */
#ifndef TRACE_SUMMARY_H
#define TRACE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "base/u64map.h"
#include "trace/coro_ids.h"
#include "trace/event.h"
#include "trace/item.h"
#include "trace/leftover.h"

#define SUMMARY_WORST     10
#define SUMMARY_PROCESSES 64
#define SUMMARY_ALIVE     10
/* Different names that are told apart; beyond, they are only counted. */
#define SUMMARY_NAMES 65536

/* A coroutine that lost events. */
struct summary_worst {
	uint64_t station; /* TRACE_NO_STATION: none */
	uint64_t probe_id, written, collected, lost;
	char *name; /* NULL: it has none, or it is not known any more */
};

/* A coroutine that had not ended when the run did. */
struct summary_alive {
	uint64_t probe_id;
	char *name; /* NULL: it has none */
	struct summary_last last;
};

/* Events that are missing in one thread's lane. */
struct summary_gaps {
	uint32_t lane; /* TRACE_LANE_STATIONS: of the stations */
	uint32_t pid;
	uint64_t tid;
	uint64_t gaps, transitions, others;
};

/* All zero is the summary of nothing. */
struct trace_summary {
	/* from the events */
	uint64_t events;                /* transitions */
	uint64_t others;                /* all others */
	uint64_t kinds[NR_TRACE_KINDS]; /* both, by kind */
	uint64_t first_ts, last_ts;     /* if there are events */
	struct coro_ids coroutines;
	struct summary_last *last; /* by the coroutine's number */
	size_t last_room;
	struct u64map threads;
	uint64_t nr_ended; /* coroutines, by their events */

	/* from gaps, by thread */
	struct u64map gap_numbers; /* tid and lane to 1 + the number */
	struct summary_gaps *gaps;
	size_t nr_gaps, gaps_room;

	/* from facts */
	bool has_run, has_totals;
	struct sidecar_run run; /* its strings are copies */
	struct sidecar_totals totals;
	uint64_t nr_processes;
	struct sidecar_process processes[SUMMARY_PROCESSES]; /* the first of them */
	uint64_t nr_described;                               /* coroutines that facts tell of */
	uint64_t nr_in_stations;                             /* of these */
	uint64_t nr_dead;                                    /* of these: said to be dead */
	uint64_t nr_named, nr_losers, nr_garbage;
	unsigned nr_alive; /* of those below: have not ended, longest suspended first */
	struct summary_alive alive[SUMMARY_ALIVE];
	struct leftovers leftovers; /* all of them, by place */
	unsigned nr_worst;
	struct summary_worst worst[SUMMARY_WORST]; /* most lost first */
	struct strtab names;
	struct u64map name_counts; /* number in names to coroutines */
	uint64_t nr_unnamed;       /* names that were too many to be told apart */
	struct strtab places;      /* "file:line function" */
	struct u64map sites;       /* id to 1 + the number in places */
};

/* 0 or -ENOMEM. */
int summary_add(struct trace_summary *s, const struct trace_item *item);

/* Coroutines that began and that ended, by all that is known. */
uint64_t summary_born(const struct trace_summary *s);
uint64_t summary_ended(const struct trace_summary *s);

/* "file.c:12 function"; NULL: nobody told. */
const char *summary_place(const struct trace_summary *s, uint32_t site);

/* The same by the place's number, as leftovers have it. */
const char *summary_place_text(const struct trace_summary *s, uint64_t place);

/* The @max names that most coroutines have, most first, as numbers in @s->names.  Returns how many.
 */
size_t summary_top_names(const struct trace_summary *s, size_t *numbers, size_t max);

/* The @max lanes that lost most, most first, as numbers in @s->gaps.  Returns how many. */
size_t summary_top_gaps(const struct trace_summary *s, size_t *numbers, size_t max);

/* From @ts to the end of the run, as far as that is known. */
uint64_t summary_age_ns(const struct trace_summary *s, uint64_t ts);

uint64_t summary_duration_ns(const struct trace_summary *s);

void summary_release(struct trace_summary *s);

#endif

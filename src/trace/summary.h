/* SPDX-License-Identifier: MIT */
/*
 * summary.h - what is in a trace, gathered event by event.
 *
 * Memory is per coroutine and per thread, never per event.  Feed it the events, then
 * the records of the sidecar if there is one.
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
#include "trace/sidecar.h"

#define SUMMARY_WORST     10
#define SUMMARY_PROCESSES 64
#define SUMMARY_ALIVE     10

/* A coroutine that lost events. */
struct summary_worst {
	uint64_t station, probe_id, written, collected, lost;
	char *name; /* NULL: it has none */
};

/* What a coroutine did last. */
struct summary_last {
	uint64_t ts; /* 0: nothing that the trace knows of */
	uint64_t addr;
	bool is_active;
};

/* A coroutine that had not ended when the run did. */
struct summary_alive {
	uint64_t probe_id;
	char *name; /* NULL: it has none */
	struct summary_last last;
};

/* All zero is the summary of nothing. */
struct trace_summary {
	/* from the events */
	uint64_t events;
	uint64_t first_ts, last_ts; /* if there are events */
	struct coro_ids coroutines;
	struct summary_last *last; /* by the coroutine's number */
	size_t last_room;
	struct u64map threads;

	/* from the sidecar */
	bool has_run, has_totals;
	struct sidecar_run run; /* its strings are copies */
	struct sidecar_totals totals;
	uint64_t nr_processes;
	struct sidecar_process processes[SUMMARY_PROCESSES]; /* the first of them */
	uint64_t nr_described;                               /* coroutines that the sidecar knows */
	uint64_t nr_dead, nr_named, nr_losers, nr_garbage;
	unsigned nr_alive; /* of those below: have not ended, longest suspended first */
	struct summary_alive alive[SUMMARY_ALIVE];
	unsigned nr_worst;
	struct summary_worst worst[SUMMARY_WORST]; /* most lost first */
	struct strtab names;
	struct u64map name_counts; /* number in names to coroutines */
};

/* 0 or -ENOMEM. */
int summary_add_event(struct trace_summary *s, const struct trace_event *ev);
int summary_add_record(struct trace_summary *s, const struct trace_item *rec);

/* The @max names that most coroutines have, most first, as numbers in @s->names.  Returns how many.
 */
size_t summary_top_names(const struct trace_summary *s, size_t *numbers, size_t max);

uint64_t summary_duration_ns(const struct trace_summary *s);

void summary_release(struct trace_summary *s);

#endif

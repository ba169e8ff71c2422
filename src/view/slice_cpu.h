/* SPDX-License-Identifier: MIT */
/*
 * slice_cpu.h - processor time of slices, in sums per coroutine and per place (`run --cpu`).
 *
 * The context switches of a slice may arrive after its end, in a trace that is being written: a
 * slice is added to the sums when switches of a later time are known.
 */
#ifndef VIEW_SLICE_CPU_H
#define VIEW_SLICE_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/slice_store.h"

struct view;

/* Of the slices that were measured.  The rest of ns was spent on a processor. */
struct cpu_sums {
	uint64_t slices, ns;
	uint64_t queued_ns;  /* ready, without a processor */
	uint64_t blocked_ns; /* in the kernel */
};

struct ended_slice {
	uint64_t start, end;
	uint32_t coro, site, thread;
};

/* All zero: empty. */
struct slice_cpu {
	struct ended_slice *ended; /* not added yet, by end */
	size_t first, nr, room;
	struct cpu_sums *places; /* by place */
	size_t nr_places;
};

/* True if the trace has context switches. */
bool view_has_cpu(const struct view *v);

/* A slice has ended: 0 or -ENOMEM. */
int slice_cpu_end(struct view *v, const struct slice *slice);

/* Add the slices whose switches are known; @all: those of all slices are.  0 or -ENOMEM. */
int slice_cpu_settle(struct view *v, bool all);

/* Sums of a slice up to @end; slices is 0 if it was not measured.  *@call: NULL if not known. */
struct cpu_sums slice_cpu_of(const struct view *v, const struct slice *slice, const char **call);

/* Of the slices that ended with a wait at @place. */
struct cpu_sums slice_cpu_place(const struct view *v, size_t place);

void slice_cpu_release(struct slice_cpu *s);

#endif

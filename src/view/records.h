/* SPDX-License-Identifier: MIT */
/*
 * records.h - one record per coroutine of the trace.
 *
 * The model removes destroyed coroutines; their records stay here, up to a limit.  Above twice the
 * limit, the least remarkable destroyed coroutines are dropped: first those without a finding, and
 * among these the ones with the shortest longest wait.
 */
#ifndef VIEW_RECORDS_H
#define VIEW_RECORDS_H

#include <stdbool.h>

#include "analyze/model.h"
#include "base/u64map.h"
#include "view/slice_cpu.h"
#include "view/slice_store.h"

/* Values of coros.flags (docs/view-format.md). */
enum record_flag {
	RECORD_HAS_RESOURCE = 1,
	RECORD_DESTROYED = 2,
	RECORD_BIRTH_TOLD = 4,
	RECORD_ENDED_SUSPENDED = 8,
	RECORD_CANCELLED = 16,
	RECORD_WOKEN_SINCE = 32,
};

struct view_record {
	uint64_t probe_id;
	uint64_t first, birth, end; /* 0: not recorded */
	uint64_t since;             /* begin of the state */
	uint64_t suspended;         /* time of the last suspend */
	uint64_t woken;             /* time of the last wake */
	uint64_t resource;
	uint64_t waited, ready, ran, longest; /* finished waits and slices only */
	uint64_t threads;                     /* bit set of the threads it ran on */
	uint64_t nr_slices;
	struct cpu_sums cpu;   /* of finished slices */
	struct slice slice;    /* the open slice */
	uint64_t slice_number; /* 1 + its number in the spool; 0: no open slice */
	uint64_t changed;      /* tick of the last change */
	uint32_t number;       /* numbered in order of appearance */
	uint32_t model_number; /* in the model, until it is destroyed */
	uint32_t earlier;      /* 1 + number of the last one before it with its id; 0: none */
	uint32_t station, pid;
	uint32_t name, kind;
	uint32_t suspends, resumes, migrations, wakes;
	uint32_t site, longest_site;
	uint32_t thread;
	uint32_t parent, waker, wake_thread; /* 1 + number; 0: none */
	uint32_t lost;
	uint32_t findings, findings_now; /* bits by detector: final, and as of the last tick */
	uint16_t flags;
	uint8_t state, reason;
	bool gone;        /* the model has removed it */
	bool wake_is_new; /* woken after the last resume */
};

struct records {
	struct view_record *all; /* sorted by number */
	size_t nr, room;
	uint32_t *of_model; /* number in the model to 1 + index in all */
	size_t of_model_room;
	struct u64map by_id; /* id and station to 1 + number of the last one */
	uint64_t next;       /* next number to assign */
	size_t max;
};

/* The record of @co, created if new (*@is_new).  NULL: no memory. */
struct view_record *records_enter(struct records *r, const struct model *m, const struct coro *co,
				  bool *is_new);

/*
 * @co is a coroutine of @m, or a copy of one, which may be destroyed by now and its id in use
 * again. NULL: no record.
 */
struct view_record *records_of(const struct records *r, const struct model *m,
			       const struct coro *co);

/* Find by number; NULL: dropped. */
struct view_record *records_find(const struct records *r, uint64_t number);

/*
 * Select the @max records to show: indexes in @all, ascending, in *@kept (freed by the caller).
 * Coroutines with a finding first, then those that have not ended, then by the longest wait.
 * Returns the count, or -ENOMEM.
 */
int64_t records_select(const struct records *r, size_t max, uint32_t **kept);

void records_release(struct records *r);

#endif

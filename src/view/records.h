/* SPDX-License-Identifier: MIT */
/*
 * records.h - a line about each coroutine that the trace told of.
 *
 * The model forgets who has gone; here they stay, up to a limit.  Over twice the limit those
 * that have gone and are least remarkable are dropped: first those without a finding, and of
 * these the ones whose longest wait was shortest.
 */
#ifndef VIEW_RECORDS_H
#define VIEW_RECORDS_H

#include <stdbool.h>

#include "analyze/model.h"
#include "view/spool.h"

/* As coros.flags has them. */
enum record_flag {
	RECORD_HAS_RESOURCE = 1,
	RECORD_DESTROYED = 2,
	RECORD_BIRTH_TOLD = 4,
	RECORD_ENDED_SUSPENDED = 8,
	RECORD_CANCELLED = 16,
	RECORD_WOKEN_SINCE = 32,
};

struct record {
	uint64_t probe_id;
	uint64_t first, birth, end; /* 0: not told */
	uint64_t since;             /* of the state */
	uint64_t suspended;         /* last suspension */
	uint64_t woken;             /* last wake */
	uint64_t resource;
	uint64_t waited, ready, ran, longest; /* of what is over */
	uint64_t threads;                     /* a bit per thread that it ran on */
	uint64_t nr_slices;
	struct slice slice;    /* that is open */
	uint64_t slice_number; /* 1 + its number in the spool; 0: none is open */
	uint64_t changed;      /* tick */
	uint32_t number;       /* in order of appearance */
	uint32_t model_number; /* of the model, until it is gone */
	uint32_t station, pid;
	uint32_t name, kind;
	uint32_t suspends, resumes, migrations, wakes;
	uint32_t site, longest_site;
	uint32_t thread;
	uint32_t parent, waker, wake_thread; /* 1 + number; 0: none */
	uint32_t lost;
	uint32_t findings, findings_now; /* bits by detector: for good, and as of the last look */
	uint16_t flags;
	uint8_t state, reason;
	bool gone;        /* the model has forgotten it */
	bool wake_is_new; /* since the last resume */
};

struct records {
	struct record *all; /* by number */
	size_t nr, room;
	uint32_t *of_model; /* the model's number to 1 + place in all */
	size_t of_model_room;
	uint64_t next; /* number */
	size_t max;
};

/* Of the coroutine, a new one if it is new (*@is_new); NULL without memory. */
struct record *records_enter(struct records *r, const struct model *m, const struct coro *co,
			     bool *is_new);

/* NULL: there is none. */
struct record *records_of(const struct records *r, const struct model *m, const struct coro *co);

/* By number; NULL: it was dropped. */
struct record *records_find(const struct records *r, uint64_t number);

/*
 * Which @max to show when there are more: places in @all, ascending, in *@kept (the caller
 * frees).  First who has a finding, then who has not ended, then who waited longest.
 * Returns how many; -ENOMEM.
 */
int64_t records_select(const struct records *r, size_t max, uint32_t **kept);

void records_release(struct records *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * wait_pairs.h - pair suspend, wake and resume of each coroutine: one wait per suspension.
 *
 *	struct wait_pairs pairs;
 *
 *	wait_pairs_init(&pairs);
 *	... wait_pairs_event(&pairs, &event, fn, ctx) for each event, in the order of time ...
 *	wait_pairs_finish(&pairs, fn, ctx);
 *	wait_pairs_release(&pairs);
 *
 * A wait begins with a suspend and ends with the next transition, end or destroy of the same
 * coroutine.  The waits are those of table `waits` of `corotracer query`.  Memory grows with the
 * coroutines that are suspended at one time.
 */
#ifndef TRACE_WAIT_PAIRS_H
#define TRACE_WAIT_PAIRS_H

#include "base/bytes.h"
#include "trace/coro_table.h"

enum wait_state {
	WAIT_RESUMED,
	WAIT_WOKEN,  /* woken, and not resumed at the end of the trace */
	WAIT_OPEN,   /* neither woken nor resumed at the end of the trace */
	WAIT_CLOSED, /* the coroutine ended or was destroyed while it was suspended */
	WAIT_LOST,   /* the event that ended it is missing, or may be missing: events were lost */
	NR_WAIT_STATES,
};

/* "resumed", "woken", ...; NULL for an unknown value. */
const char *wait_state_name(unsigned state);

/* One suspension.  A member that was not reported is 0. */
struct wait_pair {
	uint64_t probe_id;
	uint64_t ts;       /* of the suspend, CLOCK_MONOTONIC ns */
	uint64_t end_ts;   /* of the resume, end or destroy; 0: open or lost */
	uint64_t woken_ts; /* of the first wake; 0: none was read */
	uint64_t waker;    /* the coroutine that caused the first wake; 0: unknown */
	uint64_t resource; /* set if has_resource; it may be 0 */
	uint64_t addr;
	uint64_t tid, to_tid; /* of the suspend, and of its end */
	uint32_t station;     /* TRACE_NO_STATION: none */
	uint32_t site, wake_site;
	uint8_t reason; /* enum trace_reason */
	uint8_t state;  /* enum wait_state */
	bool has_resource;
};

/* Called for each wait when its end is known.  @pair is valid during the call. */
typedef void (*wait_pair_fn)(void *ctx, const struct wait_pair *pair);

struct wait_pairs {
	struct coro_table open;
	size_t nr_open;
	uint64_t gap_ts; /* the latest time at which a transition is missing; 0: none is */
};

void wait_pairs_init(struct wait_pairs *p);

/* Calls @fn once at most.  0 or -ENOMEM. */
int wait_pairs_event(struct wait_pairs *p, const struct trace_event *ev, wait_pair_fn fn,
		     void *ctx);

/* Transitions are missing: waits that began before, and have no end, are WAIT_LOST. */
void wait_pairs_gap(struct wait_pairs *p, const struct trace_gap *gap);

/*
 * At the end of the trace: calls @fn for the waits without an end, in the order of their begin, and
 * removes them.  0 or -ENOMEM.
 */
int wait_pairs_finish(struct wait_pairs *p, wait_pair_fn fn, void *ctx);

/*
 * Appends the state to @out, equal bytes for an equal state, to go on later or in another process.
 * 0 or -ENOMEM.
 */
int wait_pairs_save(const struct wait_pairs *p, struct bytes *out);

/* Adds what was saved to @p, which is new.  0, -ENOMEM, or -EINVAL: these bytes are corrupt. */
int wait_pairs_load(struct wait_pairs *p, const void *data, size_t size);

void wait_pairs_release(struct wait_pairs *p);

#endif

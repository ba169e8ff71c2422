/* SPDX-License-Identifier: MIT */
/*
 * detect_deadlock.c - coroutines wait for each other in a cycle.
 *
 * The program declares the edges: a join waits for the child that it names, a waiter of a lock for
 * the coroutine that recorded acquiring the lock.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/detector.h"
#include "analyze/model_tables.h"

#define RING_MAX  64
#define RING_TOLD 6 /* coroutines of the cycle that the message lists */

static const struct coro *waits_for(const struct model *m, const struct coro *co)
{
	const struct resource *r;

	if (co->state != TRACE_STATE_SUSPENDED || !co->has_resource)
		return NULL;
	if (co->reason == TRACE_REASON_JOIN)
		return model_find(m, co->resource);
	if (co->reason != TRACE_REASON_MUTEX && co->reason != TRACE_REASON_SEMAPHORE)
		return NULL;
	r = tables_resource(m, co);
	return r && r->holder ? model_find(m, r->holder) : NULL;
}

/* Number of coroutines in the cycle that contains @co; 0: @co is not in a cycle. */
static unsigned ring_of(const struct model *m, const struct coro *co)
{
	const struct coro *at = co;
	unsigned nr;

	for (nr = 1; nr <= RING_MAX; nr++) {
		at = waits_for(m, at);
		if (!at)
			return 0;
		if (at == co)
			return nr;
	}
	return 0;
}

/* "1 -> 2 -> 1" */
static void tell_ring(const struct model *m, const struct coro *co, unsigned nr, char *buf,
		      size_t size)
{
	const struct coro *at = co;
	size_t used = 0;
	unsigned i;

	for (i = 0; i <= nr && i < RING_TOLD && used < size; i++) {
		used += (size_t)snprintf(buf + used, size - used, "%s%" PRIu64, i ? " -> " : "",
					 at->probe_id);
		at = waits_for(m, at);
	}
	if (i <= nr && used < size)
		snprintf(buf + used, size - used, " -> ...");
}

static void on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_deadlock, co);
	unsigned nr = ring_of(m, co);
	char ring[RING_TOLD * 24 + 8];

	/* Woken after it was suspended: it is about to leave the cycle. */
	if (!nr || co->woken_since)
		return;
	f.confidence = CONFIDENCE_PROVEN;
	f.size_ns = model_age(m, co);
	tell_ring(m, co, nr, ring, sizeof(ring));
	if (nr == 1)
		finding_say(&f, "it waits for itself");
	else
		finding_say(&f, "%u wait for each other in a ring: %s", nr, ring);
	finding_doubt(a, &f, NEED_TRANSITIONS | NEED_WAKES);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_deadlock = {
	.name = "deadlock",
	.code = "L8",
	.title = "Deadlock",
	.meaning = "These coroutines wait for each other in a ring; none can go on.",
	.advice = "Take locks in one order everywhere, or do not wait for a child that waits for "
		  "you.",
	.is_fault = true,
	.on_stuck = on_stuck,
};

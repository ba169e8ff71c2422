/* SPDX-License-Identifier: MIT */
/*
 * deadlocks.h - coroutines that wait for each other in a ring.
 *
 * A coroutine waits for the one that holds its lock, or for the task that it joins.  A coroutine
 * that holds a lock and awaits another one waits for what the innermost one waits for.
 */
#ifndef INSPECT_DEADLOCKS_H
#define INSPECT_DEADLOCKS_H

#include "base/printer.h"
#include "inspect/described_waits.h"

struct inspection;

/*
 * Waits of holders that one wait is followed to.  Where there are several, a ring through one of
 * them is a suspicion only: several coroutines hold the lock, or the holder awaits several.
 */
#define DEADLOCK_EDGES 64u

/* One coroutine of a ring.  It waits for the next one; the last one waits for the first. */
struct deadlock_member {
	uint32_t wait;   /* number in described.waits */
	uint64_t holder; /* frame or task that holds the lock, or is joined */
	int64_t guard;   /* number in described.guards; -1: the lock names its holder, or a join */
	uint8_t confidence; /* enum inspect_confidence, of this wait */
	const char *doubt;  /* why it is not proven; NULL: it is */
};

struct deadlock {
	size_t first, count; /* in members */
	uint8_t confidence;
	const char *doubt;
};

/* All zero: none. */
struct deadlocks {
	struct deadlock_member *members;
	size_t nr_members;
	struct deadlock *rings;
	size_t nr;
	size_t nr_cut; /* waits that were followed to DEADLOCK_EDGES others, and not to all */
};

/*
 * Find the rings among in->described, look at them a second time, and give their coroutines the
 * verdict.  Groups are made before.  0 or a negative errno.
 */
int deadlocks_judge(struct inspection *in, struct err *err);

/* The rings, coroutine by coroutine; "rings" in JSON. */
void deadlocks_print(struct inspection *in, struct printer *p);

/* What holds the object of @wait: a frame, a task, or the number of a thread; 0: unknown. */
uint64_t deadlock_holder(const struct inspection *in, const struct described_wait *wait);

void deadlocks_release(struct deadlocks *d);

#endif

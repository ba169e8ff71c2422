/* SPDX-License-Identifier: MIT */
/* tickclock.c - from the cycle counter to CLOCK_MONOTONIC. */
#include "ctp/tickclock.h"

#include <string.h>

/* The clock and counter reading is the SDK's own. */
#define CTP_SLOW_LINKAGE static __attribute__((unused, noinline, cold))
#include <corotracer/attach.h>

#include "base/clock.h"

/* Marks nearer than this replace the one before: the ring is to reach back a while. */
#define APART_NS (1 * NS_PER_MS)

/* Somebody came in between, again and again: so often we try. */
#define TRIES 16

static struct tick_mark *mark_at(struct tickclock *tc, uint64_t nr)
{
	return &tc->marks[nr % TICKCLOCK_MARKS];
}

static uint64_t rate(const struct tick_mark *from, uint64_t ticks, uint64_t ns)
{
	if (ticks <= from->ticks || ns <= from->ns)
		return 0;
	return (uint64_t)(((unsigned __int128)(ns - from->ns) << 32) / (ticks - from->ticks));
}

void tickclock_add(struct tickclock *tc, uint64_t ticks, uint64_t ns)
{
	struct tick_mark *last = tc->nr ? mark_at(tc, tc->nr - 1) : NULL;
	struct tick_mark *before = tc->nr > 1 ? mark_at(tc, tc->nr - 2) : NULL;

	/* Neither goes back; if the counter did, all before it is of another time. */
	if (last && ticks <= last->ticks)
		return;
	if (before && last->ns - before->ns < APART_NS) {
		*last = (struct tick_mark){ ticks, ns, 0 };
		before->mult = rate(before, ticks, ns);
		return;
	}
	if (last)
		last->mult = rate(last, ticks, ns);
	*mark_at(tc, tc->nr++) = (struct tick_mark){ ticks, ns, last ? last->mult : 0 };
}

void tickclock_open(struct tickclock *tc)
{
	struct tick_mark first = { 0, 0, 0 };

	memset(tc, 0, sizeof(*tc));
	tc->usable = ctp_counter_usable() != 0;
	if (tc->usable) {
		tc->pair_ticks = ctp_clock_pair(20, 0, &first.ticks, &first.ns);
		tickclock_add(tc, first.ticks, first.ns);
	} else {
		tickclock_add(tc, 1, clock_now_ns());
	}
}

bool tickclock_mark(struct tickclock *tc)
{
	uint64_t ticks = 0, ns = 0;

	if (!tc->usable)
		return true;
	if (ctp_clock_pair(TRIES, 2 * tc->pair_ticks, &ticks, &ns) > 8 * tc->pair_ticks)
		return false;
	tickclock_add(tc, ticks, ns);
	return true;
}

/* The mark that @ticks comes after, as far back as we know. */
static const struct tick_mark *mark_before(const struct tickclock *tc, uint64_t ticks)
{
	uint64_t oldest = tc->nr > TICKCLOCK_MARKS ? tc->nr - TICKCLOCK_MARKS : 0;
	uint64_t low = oldest, high = tc->nr - 1;

	/* Nearly always it is the last stretch. */
	if (high > low && tc->marks[(high - 1) % TICKCLOCK_MARKS].ticks <= ticks)
		return &tc->marks[(high - 1) % TICKCLOCK_MARKS];
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (tc->marks[middle % TICKCLOCK_MARKS].ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return &tc->marks[low % TICKCLOCK_MARKS];
}

uint64_t tickclock_ns(const struct tickclock *tc, uint64_t ticks)
{
	const struct tick_mark *m = mark_before(tc, ticks);

	if (ticks >= m->ticks)
		return m->ns + (uint64_t)(((unsigned __int128)(ticks - m->ticks) * m->mult) >> 32);
	/* Older than all we remember. */
	return m->ns - (uint64_t)(((unsigned __int128)(m->ticks - ticks) * m->mult) >> 32);
}

uint64_t tickclock_ticks(const struct tickclock *tc, uint64_t ns)
{
	uint64_t mult = tickclock_last(tc)->mult;

	if (!mult && tc->nr > 1)
		mult = tc->marks[(tc->nr - 2) % TICKCLOCK_MARKS].mult;
	return mult ? (uint64_t)(((unsigned __int128)ns << 32) / mult) : 0;
}

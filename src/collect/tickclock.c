/* SPDX-License-Identifier: MIT */
/* tickclock.c - convert the cycle counter to CLOCK_MONOTONIC. */
#include "collect/tickclock.h"

#include <string.h>

/* Reading clock and counter uses the SDK's code. */
#define CTP_SLOW_LINKAGE static __attribute__((unused, noinline, cold))
#include <corotracer/attach.h>

#include "base/monotonic.h"

/* Minimum distance of marks in the coarse ring. */
#define APART_NS (1 * NS_PER_MS)

/* Attempts to read both without being preempted in between. */
#define TRIES 16

static struct tick_mark *tickclock_newest(struct tick_ring *r)
{
	return r->nr ? &r->marks[(r->nr - 1) % TICKCLOCK_MARKS] : NULL;
}

static uint64_t tickclock_rate(const struct tick_mark *from, uint64_t ticks, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)(ns - from->ns) << 32) / (ticks - from->ticks));
}

static void tickclock_append(struct tick_ring *r, uint64_t ticks, uint64_t ns)
{
	struct tick_mark *last = tickclock_newest(r);

	if (last)
		last->mult = tickclock_rate(last, ticks, ns);
	r->marks[r->nr++ % TICKCLOCK_MARKS] = (struct tick_mark){ ticks, ns,
								  last ? last->mult : 0 };
}

void tickclock_add(struct tickclock *tc, uint64_t ticks, uint64_t ns)
{
	const struct tick_mark *last = tickclock_newest(&tc->fine),
			       *kept = tickclock_newest(&tc->coarse);

	/* Both must increase: ignore a reading after the counter was set back. */
	if (last && (ticks <= last->ticks || ns <= last->ns))
		return;
	tickclock_append(&tc->fine, ticks, ns);
	if (!kept || ns - kept->ns >= APART_NS)
		tickclock_append(&tc->coarse, ticks, ns);
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

void tickclock_freeze(struct tickclock *tc, const struct tick_mark *from, uint64_t to_ticks)
{
	struct tick_mark to = { to_ticks, 0, from->mult };

	to.ns = from->ns +
		(uint64_t)(((unsigned __int128)(to_ticks - from->ticks) * from->mult) >> 32);
	memset(tc, 0, sizeof(*tc));
	tc->usable = tc->frozen = true;
	tc->fine.marks[0] = *from;
	tc->fine.marks[1] = to;
	tc->fine.nr = 2;
	tc->coarse = tc->fine;
}

bool tickclock_mark(struct tickclock *tc)
{
	uint64_t ticks = 0, ns = 0;

	if (!tc->usable || tc->frozen)
		return true;
	if (ctp_clock_pair(TRIES, 2 * tc->pair_ticks, &ticks, &ns) > 8 * tc->pair_ticks) {
		/*
		 * The processor may execute a reading of the counter early: once in a few hundred
		 * runs pair_ticks is so small that no later reading would be accepted, and no event
		 * would be old enough to be taken.
		 */
		tc->pair_ticks = 2 * tc->pair_ticks + 1;
		return false;
	}
	tickclock_add(tc, ticks, ns);
	return true;
}

static const struct tick_mark *mark_nr(const struct tick_ring *r, uint64_t nr)
{
	return &r->marks[nr % TICKCLOCK_MARKS];
}

static uint64_t tickclock_oldest(const struct tick_ring *r)
{
	return r->nr > TICKCLOCK_MARKS ? r->nr - TICKCLOCK_MARKS : 0;
}

/* The last mark before @ticks, or the oldest mark. */
static const struct tick_mark *mark_before(const struct tick_ring *r, uint64_t ticks)
{
	uint64_t low = tickclock_oldest(r), high = r->nr - 1;

	/* Nearly always it is the last interval. */
	if (high > low && mark_nr(r, high - 1)->ticks <= ticks)
		return mark_nr(r, high - 1);
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (mark_nr(r, middle)->ticks <= ticks)
			low = middle;
		else
			high = middle;
	}
	return mark_nr(r, low);
}

static const struct tick_ring *tickclock_ring_of(const struct tickclock *tc, uint64_t ticks)
{
	return ticks >= mark_nr(&tc->fine, tickclock_oldest(&tc->fine))->ticks ? &tc->fine
									       : &tc->coarse;
}

struct tick_mark tickclock_stretch(const struct tickclock *tc, uint64_t ticks, uint64_t *length)
{
	const struct tick_ring *r = tickclock_ring_of(tc, ticks);
	const struct tick_mark *m = mark_before(r, ticks);
	uint64_t at = (uint64_t)(m - r->marks), newest_at = (r->nr - 1) % TICKCLOCK_MARKS;

	*length = at == newest_at ? 0 : r->marks[(at + 1) % TICKCLOCK_MARKS].ticks - m->ticks;
	return *m;
}

uint64_t tickclock_ns(const struct tickclock *tc, uint64_t ticks)
{
	const struct tick_mark *m = mark_before(tickclock_ring_of(tc, ticks), ticks);
	unsigned __int128 back;

	if (ticks >= m->ticks)
		return m->ns + (uint64_t)(((unsigned __int128)(ticks - m->ticks) * m->mult) >> 32);
	/* Older than the oldest mark, possibly before time 0 of the clock. */
	back = ((unsigned __int128)(m->ticks - ticks) * m->mult) >> 32;
	return back < m->ns ? m->ns - (uint64_t)back : 0;
}

uint64_t tickclock_ticks(const struct tickclock *tc, uint64_t ns)
{
	uint64_t length, mult = tickclock_stretch(tc, tickclock_last(tc)->ticks, &length).mult;

	return mult ? (uint64_t)(((unsigned __int128)ns << 32) / mult) : 0;
}

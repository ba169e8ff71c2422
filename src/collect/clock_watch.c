/* SPDX-License-Identifier: MIT */
/* clock_watch.c - notice what happens to the clocks during a run. */
#include "collect/clock_watch.h"

#include <corotracer/probe.h>

#include "base/monotonic.h"

#define LOOK_NS    (1 * NS_PER_SEC)
#define RATE_LEAST (NS_PER_SEC / 2)  /* shorter intervals say little about a rate */
#define PAUSE_MOST (1 * NS_PER_MS)   /* between the first and the last of the readings */
#define SUSPENDED  (50 * NS_PER_MS)  /* less is noise of the readings */
#define STEPPED    (100 * NS_PER_MS) /* less is the slewing of an adjusted clock */
#define RATE_SHARE 100u              /* a rate that differs by one part in this many is another */
#define TRIES      50

static uint64_t watch_difference(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* The clock of the time since boot goes on while the machine is suspended. */
static uint64_t watch_suspension(const struct clock_reading *last, const struct clock_reading *now)
{
	int64_t grown = (int64_t)((now->boot_ns - now->monotonic_ns) -
				  (last->boot_ns - last->monotonic_ns));

	return grown > (int64_t)SUSPENDED ? (uint64_t)grown : 0;
}

static uint64_t watch_wall_step(const struct clock_reading *last, const struct clock_reading *now)
{
	uint64_t step = watch_difference(now->wall_ns - last->wall_ns,
					 now->boot_ns - last->boot_ns);

	/* Backwards: the difference of unsigned numbers is nearly 2^64. */
	if (step > UINT64_MAX / 2)
		step = 0 - step;
	return step > STEPPED ? step : 0;
}

/* A suspension changes the rate once, for this interval: the counter may have gone on. */
static void watch_counter(struct clock_watch *w, const struct clock_reading *now,
			  bool was_suspended)
{
	uint64_t ns = now->monotonic_ns - w->last.monotonic_ns, mult;

	if (!now->ticks || !w->last.ticks)
		return;
	if (now->ticks <= w->last.ticks) {
		w->counter_changes += now->ticks < w->last.ticks || ns >= RATE_LEAST;
		w->mult = 0;
		return;
	}
	if (was_suspended || ns < RATE_LEAST)
		return;
	mult = (uint64_t)(((unsigned __int128)ns << 32) / (now->ticks - w->last.ticks));
	if (w->mult && watch_difference(mult, w->mult) > w->mult / RATE_SHARE)
		w->counter_changes++;
	w->mult = mult;
}

void clock_watch_add(struct clock_watch *w, const struct clock_reading *now)
{
	uint64_t suspended;

	if (w->has_last) {
		suspended = watch_suspension(&w->last, now);
		w->suspended_ns += suspended;
		w->wall_step_ns += watch_wall_step(&w->last, now);
		watch_counter(w, now, suspended > 0);
	}
	w->last = *now;
	w->has_last = true;
}

/* All clocks at nearly one moment.  False: interrupted in every attempt. */
static bool watch_read(struct clock_reading *r, bool has_counter)
{
	int tries;

	for (tries = 0; tries < TRIES; tries++) {
		r->monotonic_ns = clock_now_ns();
		r->ticks = has_counter ? ctp_ticks() : 0;
		r->boot_ns = monotonic_clock_ns(CLOCK_BOOTTIME);
		r->wall_ns = monotonic_clock_ns(CLOCK_REALTIME);
		if (clock_now_ns() - r->monotonic_ns < PAUSE_MOST)
			return true;
	}
	return false;
}

void clock_watch_look(struct clock_watch *w, uint64_t now_ns, bool has_counter, bool is_last)
{
	struct clock_reading now;

	if (w->has_last && !is_last && now_ns - w->last.monotonic_ns < LOOK_NS)
		return;
	if (watch_read(&now, has_counter))
		clock_watch_add(w, &now);
}

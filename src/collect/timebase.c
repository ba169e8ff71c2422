/* SPDX-License-Identifier: MIT */
/* timebase.c - publish the clock in the region, so that programs need no system clock call. */
#include "collect/timebase.h"

/* Reading clock and counter uses the SDK's code. */
#define CTP_SLOW_LINKAGE static __attribute__((unused, noinline, cold))
#include <corotracer/attach.h>

#include "base/monotonic.h"

/* Well within the window in which programs may use it. */
#define PUBLISH_NS (10 * NS_PER_MS)

/* A change of the clock's rate (NTP) takes effect within about this time. */
#define BASE_NS (1 * NS_PER_SEC)

int timebase_usable(void)
{
	return ctp_counter_usable() != 0;
}

void timebase_open(struct timebase *tb, struct ctp_ext_header *ext)
{
	struct timespec settle = { 0, 1000000 };

	memset(tb, 0, sizeof(*tb));
	if (!timebase_usable())
		return;
	tb->ext = ext;
	tb->pair_ticks = ctp_clock_pair(10, 0, &tb->base.ticks, &tb->base.ns);
	tb->mid = tb->base;
	/*
	 * One millisecond gives a rate good enough to check whether a program has the same
	 * clock.
	 */
	nanosleep(&settle, NULL);
	timebase_publish(tb, clock_now_ns());
}

/* Limit the age of the interval over which the rate is measured. */
static void move_base(struct timebase *tb, const struct timebase_pair *now)
{
	if (now->ns - tb->mid.ns < BASE_NS)
		return;
	tb->base = tb->mid;
	tb->mid = *now;
}

static void timebase_store(struct ctp_ext_header *ext, const struct timebase_pair *at,
			   uint64_t mult, uint64_t window_ticks)
{
	uint64_t seq = ctp_load_relaxed(&ext->clock_seq) & ~UINT64_C(1);

	ctp_store_relaxed(&ext->clock_seq, seq + 1);
	/* (ctp-G) pairs with the load-load fence in ctp_clock_published(). */
	ctp_fence_store_store();
	ctp_store_relaxed(&ext->clock_ticks, at->ticks);
	ctp_store_relaxed(&ext->clock_ns, at->ns);
	ctp_store_relaxed(&ext->clock_mult, mult);
	ctp_store_relaxed(&ext->clock_window, window_ticks);
	/* (ctp-G) pairs with the acquire load in ctp_clock_published(). */
	ctp_store_release(&ext->clock_seq, seq + 2);
}

/* The machine was suspended, or the counter jumped: measure from the start again. */
static void start_over(struct timebase *tb, const struct timebase_pair *now)
{
	tb->base = tb->mid = *now;
	tb->mult = 0;
	timebase_store(tb->ext, now, 0, 0);
}

void timebase_publish(struct timebase *tb, uint64_t now_ns)
{
	struct timebase_pair now = { 0, 0 };
	uint64_t mult, window_ns;

	if (!tb->ext || now_ns - tb->published_ns < PUBLISH_NS)
		return;
	/* Preempted in between: the next scan tries again. */
	if (ctp_clock_pair(3, 2 * tb->pair_ticks, &now.ticks, &now.ns) > 8 * tb->pair_ticks)
		return;
	tb->published_ns = now_ns;
	mult = ctp_clock_rate(now.ns - tb->base.ns, now.ticks - tb->base.ticks);
	if (!mult || (tb->mult && !ctp_clock_rates_agree(mult, tb->mult))) {
		start_over(tb, &now);
		return;
	}
	window_ns = 2 * (now.ns - tb->base.ns);
	if (window_ns > CTP_CLOCK_WINDOW_NS)
		window_ns = CTP_CLOCK_WINDOW_NS;
	/* Until a second rate agrees with the first, the rate only serves to compare clocks. */
	timebase_store(tb->ext, &now, mult, tb->mult ? (window_ns << CTP_CLOCK_SHIFT) / mult : 0);
	tb->mult = mult;
	move_base(tb, &now);
}

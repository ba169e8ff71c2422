/* SPDX-License-Identifier: MIT */
/*
 * corotracer/clock.h - the slow side of time: clock and cycle counter, and what one tells
 * of the other.
 *
 * Part of the slow path: see attach.h for who includes it, and for its manners.
 */
#ifndef COROTRACER_CLOCK_H
#define COROTRACER_CLOCK_H

#include <corotracer/probe.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

/* Who includes this in many places at once may want one copy instead of one each. */
#ifndef CTP_SLOW
#define CTP_SLOW static __attribute__((unused, noinline, cold))
#endif

/* Rare, but on the way of every second event of a slow program: not far away, and in one piece. */
#define CTP_WARM static inline __attribute__((unused))

#ifdef __cplusplus
extern "C" {
#endif

/* Why we are not traced; only for those who asked. */
CTP_SLOW __attribute__((format(printf, 1, 2))) void ctp_say(const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int len;

	if (!secure_getenv(CTP_ENV_VERBOSE))
		return;
	va_start(ap, fmt);
	len = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	va_end(ap);
	if (len < 0)
		return;
	if ((size_t)len > sizeof(line) - 2)
		len = (int)sizeof(line) - 2;
	line[len] = '\n';
	/* Not write(): that is a cancellation point. */
	syscall(SYS_write, 2, line, (size_t)len + 1);
}

/* ---- time ---------------------------------------------------------------- */

CTP_SLOW uint64_t ctp_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Does the counter run at one rate, always, and alike on all cores? */
CTP_SLOW uint32_t ctp_counter_usable(void)
{
#if defined(__x86_64__)
	unsigned a, b, c, d;

	/* CPUID 80000007H, EDX bit 8: invariant TSC. */
	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1u << 8));
#elif defined(__aarch64__)
	return 1; /* the generic timer is invariant by architecture */
#else
	return 0;
#endif
}

/*
 * The clock, and the counter at that moment.  Somebody may come in between: the
 * tightest of @tries counts, and one that took @good_ticks at most is good enough.
 * Returns how long the one that counts took.
 */
CTP_SLOW uint64_t ctp_clock_pair(int tries, uint64_t good_ticks, uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	while (tries-- > 0 && best > good_ticks) {
		uint64_t before = ctp_ticks();
		uint64_t now = ctp_clock_ns();
		uint64_t took = ctp_ticks() - before;

		if (took >= best)
			continue;
		best = took;
		*ticks = before + took / 2;
		*ns = now;
	}
	return best;
}

/* What the collector has published, read whole.  0: nothing yet, or it is just at it. */
CTP_WARM int ctp_clock_load(struct ctp_header *h, struct ctp_thread *t)
{
	const struct ctp_ext_header *ext = ctp_header_ext(h);
	/* (G) pairs with the release store in the collector's timebase.c: store(). */
	uint64_t seq = ctp_load_acquire(&ext->clock_seq);

	if (!seq || seq % 2)
		return 0;
	t->anchor_ticks = ctp_load_relaxed(&ext->clock_ticks);
	t->anchor_ns = ctp_load_relaxed(&ext->clock_ns);
	t->mult = ctp_load_relaxed(&ext->clock_mult);
	t->window_ticks = ctp_load_relaxed(&ext->clock_window);
	/* (G) pairs with the store-store fence in the collector's timebase.c: store(). */
	ctp_fence_load_load();
	return ctp_load_relaxed(&ext->clock_seq) == seq;
}

/* Is the collector's clock ours?  In a time namespace it would not be. */
CTP_SLOW int ctp_clock_agrees(const struct ctp_session *s)
{
	struct ctp_thread t;
	double apart;
	int tries = 3;

	while (!ctp_clock_load(s->header, &t)) {
		if (--tries == 0)
			return 0;
	}
	/* It may have been published before or after our own first look at the clock. */
	apart = (double)(int64_t)(s->base_ticks - t.anchor_ticks) * (double)t.mult / 4294967296.0 +
		(double)(int64_t)(t.anchor_ns - s->base_ns);
	/* Seconds may have passed since, so this is only roughly so. */
	return apart < 1e6 && apart > -1e6;
}

/* The published clock, if there is one and it is still good at @now (ticks). */
CTP_WARM int ctp_clock_published(const struct ctp_session *s, uint64_t now, struct ctp_thread *t)
{
	return s->clock_published && ctp_clock_load(s->header, t) &&
	       now - t->anchor_ticks < t->window_ticks;
}

/* Do two rates agree, to 2000 ppm?  Slewing stays within that, a suspended machine does not. */
CTP_SLOW int ctp_clock_rates_agree(uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;

	return apart <= a / 512;
}

/* (ns << 32) / ticks, or 0 where that says nothing. */
CTP_SLOW uint64_t ctp_clock_rate(uint64_t ns, uint64_t ticks)
{
	double ns_per_tick = (double)ns / (double)(ticks ? ticks : 1);

	/* Too near, or a counter that jumped. */
	if (ns < 50000 || ns_per_tick < 0.01 || ns_per_tick > 1000.0)
		return 0;
	return (uint64_t)(ns_per_tick * 4294967296.0);
}

/*
 * Ask the clock, and measure the counter's rate since the mark.  The mark moves on
 * when it is half a window old, so the rate is that of now.
 */
CTP_SLOW void ctp_clock_measured(const struct ctp_session *s, struct ctp_thread *t)
{
	uint64_t ticks = 0, ns = 0, window_ns, span_ns;

	ctp_clock_pair(4, 2 * s->pair_ticks, &ticks, &ns);
	if (!t->mark_ns) {
		t->mark_ticks = s->base_ticks;
		t->mark_ns = s->base_ns;
	}
	span_ns = ns - t->mark_ns;
	t->anchor_ticks = ticks;
	t->anchor_ns = ns;
	t->window_ticks = 0;
	t->mult = ctp_clock_rate(span_ns, ticks - t->mark_ticks);
	if (t->mult && ctp_clock_rates_agree(t->mult, t->mark_mult)) {
		window_ns = 2 * span_ns < CTP_CLOCK_WINDOW_NS ? 2 * span_ns : CTP_CLOCK_WINDOW_NS;
		t->window_ticks = (window_ns << CTP_CLOCK_SHIFT) / t->mult;
	}
	if (span_ns >= CTP_CLOCK_WINDOW_NS / 2) {
		t->mark_ticks = ticks;
		t->mark_ns = ns;
		t->mark_mult = t->mult;
	}
}

/*
 * What we extrapolated has run ahead, to @reached at @ticks where it should be @now
 * (the clock is being slowed).  Time does not go back, but it may go slower: so that
 * both meet at the end of the window.
 */
CTP_SLOW void ctp_clock_slow_down(struct ctp_thread *t, uint64_t ticks, uint64_t now,
				  uint64_t reached)
{
	uint64_t left = t->window_ticks - (ticks - t->anchor_ticks);
	uint64_t less = left ? ((reached - now) << CTP_CLOCK_SHIFT) / left : 0;

	t->anchor_ticks = ticks;
	t->anchor_ns = reached;
	t->window_ticks = t->window_ticks ? left : 0;
	t->mult -= less < t->mult / 2 ? less : t->mult / 2;
}

/* The window is over, or was never opened: open the next.  Returns the time. */
CTP_SLOW_LINKAGE uint64_t ctp_clock_anchor(struct ctp_thread *t, const struct ctp_session *s)
{
	uint64_t reached = t->anchor_ns + ((t->window_ticks * t->mult) >> CTP_CLOCK_SHIFT);
	uint64_t ticks, now;

	if (!s->counter_usable)
		return ctp_clock_ns();
	ticks = ctp_ticks();
	if (!ctp_clock_published(s, ticks, t)) {
		ctp_clock_measured(s, t);
		ticks = t->anchor_ticks;
	}
	now = t->anchor_ns + (((ticks - t->anchor_ticks) * t->mult) >> CTP_CLOCK_SHIFT);
	if (now >= reached || reached - now > CTP_CLOCK_WINDOW_NS)
		return now;
	ctp_clock_slow_down(t, ticks, now, reached);
	return reached;
}

#ifdef __cplusplus
}
#endif

#endif

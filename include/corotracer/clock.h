/* SPDX-License-Identifier: MIT */
/*
 * corotracer/clock.h - the slow path of time: the clock, the cycle counter, and the rate between
 * them.
 *
 * Part of the slow path: attach.h describes how it is included and what it guarantees.
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

#include <corotracer/header_begin.h>
#endif

/* An SDK that includes this in many translation units may define CTP_SLOW for a single copy. */
#ifndef CTP_SLOW
#define CTP_SLOW static __attribute__((unused, noinline, cold))
#endif

/* Rare in a fast program, but every second event of a slow one comes here: inline, not cold. */
#define CTP_WARM static inline __attribute__((unused))

#ifdef __cplusplus
extern "C" {
#endif

/* Print why the program is not traced, if CTP_VERBOSE is set. */
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
	/* Not write(), which is a cancellation point. */
	syscall(SYS_write, 2, line, (size_t)len + 1);
}

/* ---- time ---------------------------------------------------------------- */

CTP_SLOW uint64_t ctp_clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* 1 if the counter has a constant rate and is synchronised between all cores. */
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
 * Read the clock, and the counter at the same moment.  The thread may be interrupted between the
 * two: of up to @tries attempts the shortest counts, and an attempt of at most @good_ticks ends the
 * loop.  Returns the duration of the attempt that counts, in ticks.
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

/* Read the published clock consistently.  Returns 0 if it is unpublished or being updated. */
CTP_WARM int ctp_clock_load(struct ctp_header *h, struct ctp_thread *t)
{
	const struct ctp_ext_header *ext = ctp_header_ext(h);
	/* (ctp-G) pairs with the release store in the collector's timebase.c: timebase_store(). */
	uint64_t seq = ctp_load_acquire(&ext->clock_seq);

	if (!seq || seq % 2)
		return 0;
	t->anchor_ticks = ctp_load_relaxed(&ext->clock_ticks);
	t->anchor_ns = ctp_load_relaxed(&ext->clock_ns);
	t->mult = ctp_load_relaxed(&ext->clock_mult);
	t->window_ticks = ctp_load_relaxed(&ext->clock_window);
	/* (ctp-G) pairs with the store-store fence in the collector's timebase.c: timebase_store().
	 */
	ctp_fence_load_load();
	return ctp_load_relaxed(&ext->clock_seq) == seq;
}

/* 1 if this process has the same clock as the collector; in a time namespace it has not. */
CTP_SLOW int ctp_clock_agrees(const struct ctp_session *s)
{
	struct ctp_thread t;
	double apart;
	int tries = 3;

	while (!ctp_clock_load(s->header, &t)) {
		if (--tries == 0)
			return 0;
	}
	/* The clock may have been published before or after base_ns was read. */
	apart = (double)(int64_t)(s->base_ticks - t.anchor_ticks) * (double)t.mult / 4294967296.0 +
		(double)(int64_t)(t.anchor_ns - s->base_ns);
	/* Seconds may lie between the two readings: 1 ms of tolerance. */
	return apart < 1e6 && apart > -1e6;
}

/* Use the published clock, if there is one and its window includes @now (ticks). */
CTP_WARM int ctp_clock_published(const struct ctp_session *s, uint64_t now, struct ctp_thread *t)
{
	return s->clock_published && ctp_clock_load(s->header, t) &&
	       now - t->anchor_ticks < t->window_ticks;
}

/* 1 if two rates agree to 2000 ppm.  Slewing stays within that, a suspended machine does not. */
CTP_SLOW int ctp_clock_rates_agree(uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;

	return apart <= a / 512;
}

/* (ns << 32) / ticks, or 0 if the measurement is unusable. */
CTP_SLOW uint64_t ctp_clock_rate(uint64_t ns, uint64_t ticks)
{
	double ns_per_tick = (double)ns / (double)(ticks ? ticks : 1);

	/* The measurement is too short, or the counter jumped. */
	if (ns < 50000 || ns_per_tick < 0.01 || ns_per_tick > 1000.0)
		return 0;
	return (uint64_t)(ns_per_tick * 4294967296.0);
}

/*
 * Read the clock, and compute the counter's rate since the mark.  The mark moves forward when it is
 * half a window old, so that the rate is recent.
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
 * The extrapolated time has run ahead: it is @reached at @ticks, and the clock says @now (the clock
 * is being slowed down).  Time must not go back, so it runs slower until both meet at the end of
 * the window.
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

/* The window has ended, or none was open: open the next one.  Returns the time. */
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

#include <corotracer/header_end.h>

#endif

/* SPDX-License-Identifier: MIT */
/*
 * bench_pace.c - the cost of one event in a program that does other work in between.
 *
 *	corotracer run -- bench-pace --rate=10000 --seconds=3
 *
 * Writes events at a steady total rate, over 100 coroutines in turn, and sleeps in between
 * (--spin=1: busy-waits), as servers do: the caches are cold then, and the collector may be
 * asleep and must be woken.  Each event is timed with the cycle counter, less the cost of the
 * counter.  One clock_gettime() is timed in the same way, at the same pace but without events:
 * it is also slower than in a tight loop.
 *
 * Another process may take the CPU in the middle of an event.  An event that took longer than
 * DISTURBED_NS and made no system call is counted as disturbed and excluded from the mean; the
 * mean of all events is printed, too.
 *
 * Linked with --wrap=ctp_wake, to count the events that made a system call.
 */
#include "bench.h"

#include <corotracer/corotracer.h>

#include <stdlib.h>
#include <time.h>

#define NR_COROUTINES 100u
#define DISTURBED_NS  20000

static struct corotracer_coro coroutines[NR_COROUTINES];
static uint64_t nr_wakes;

void __real_ctp_wake(struct ctp_session *s);
void __wrap_ctp_wake(struct ctp_session *s);

void __wrap_ctp_wake(struct ctp_session *s)
{
	nr_wakes++;
	__real_ctp_wake(s);
}

static void write_event(uint64_t k)
{
	struct corotracer_coro *co = &coroutines[k % NR_COROUTINES];

	if (k / NR_COROUTINES % 2)
		corotracer_suspend(co, coroutines);
	else
		corotracer_resume(co);
}

static void read_clock(uint64_t k)
{
	struct timespec ts, *p = &ts;

	(void)k;
	clock_gettime(CLOCK_MONOTONIC, p);
	BENCH_LAUNDER(p);
}

struct paced {
	uint64_t period_ns;
	bool spin;
	double ns_per_tick;
	uint64_t overhead;                      /* counter_cost() */
	uint64_t nr, ticks;                     /* all events, and their total time */
	uint64_t nr_disturbed, ticks_disturbed; /* the disturbed ones among them */
};

static void wait_until(uint64_t ns, bool spin)
{
	struct timespec ts = { .tv_sec = (time_t)(ns / 1000000000u),
			       .tv_nsec = (long)(ns % 1000000000u) };

	if (!spin) {
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		return; /* do not read the clock here: that would warm it up */
	}
	while (bench_now_ns() < ns)
		;
}

/* The cost of two consecutive reads of the counter. */
static uint64_t counter_cost(void)
{
	uint64_t least = UINT64_MAX;
	int i;

	for (i = 0; i < 10000; i++) {
		uint64_t start = ctp_ticks();
		uint64_t ticks = ctp_ticks() - start;

		least = ticks < least ? ticks : least;
	}
	return least;
}

static inline __attribute__((always_inline)) uint64_t timed(void (*act)(uint64_t), uint64_t k,
							    uint64_t overhead)
{
	uint64_t start = ctp_ticks();
	uint64_t ticks;

	act(k);
	ticks = ctp_ticks() - start;
	return ticks > overhead ? ticks - overhead : 0;
}

static void account(struct paced *p, uint64_t ticks, bool woke)
{
	p->nr++;
	p->ticks += ticks;
	if (!woke && (double)ticks * p->ns_per_tick > DISTURBED_NS) {
		p->nr_disturbed++;
		p->ticks_disturbed += ticks;
	}
}

/* Run everything that is due: above about 10,000/s that is several actions in a row. */
static inline __attribute__((always_inline)) void run_paced(struct paced *p, void (*act)(uint64_t),
							    double seconds)
{
	uint64_t next = bench_now_ns(), end = next + (uint64_t)(seconds * 1e9), k = 0;

	while (next < end) {
		wait_until(next, p->spin);
		do {
			uint64_t wakes = nr_wakes;
			uint64_t ticks = timed(act, k++, p->overhead);

			account(p, ticks, nr_wakes != wakes);
			next += p->period_ns;
		} while (next <= bench_now_ns());
	}
}

static double mean_ns(const struct paced *p)
{
	uint64_t nr = p->nr - p->nr_disturbed;

	return nr ? (double)(p->ticks - p->ticks_disturbed) * p->ns_per_tick / (double)nr : 0;
}

static void tell(const struct paced *events, const struct paced *clocks, double took_ns)
{
	unsigned rate = (unsigned)(1000000000u / events->period_ns);
	const char *how = events->spin ? "spin" : "pace";

	bench_emit(mean_ns(events), "%s.%u.event_ns", how, rate);
	bench_emit(mean_ns(clocks), "%s.%u.clock_ns", how, rate);
	bench_emit((double)events->ticks * events->ns_per_tick / (double)events->nr,
		   "%s.%u.event_all_ns", how, rate);
	bench_emit((double)events->nr_disturbed, "%s.%u.disturbed", how, rate);
	bench_emit(100.0 * (double)nr_wakes / (double)events->nr, "%s.%u.wakes_percent", how, rate);
	bench_emit((double)events->nr / took_ns * 1e9, "%s.%u.events_per_s", how, rate);
}

static void measure(const struct paced *how, double seconds)
{
	struct paced warmup = *how, events = *how, clocks = *how;
	pid_t collector = bench_collector_pid();
	uint64_t cpu, start;
	double took_ns;

	run_paced(&clocks, read_clock, seconds / 4);

	/* After a pause the collector is asleep; do not count its first wake-up. */
	run_paced(&warmup, write_event, 0.1);
	nr_wakes = 0;
	cpu = bench_cpu_ns(collector);
	start = bench_now_ns();
	run_paced(&events, write_event, seconds);
	took_ns = (double)(bench_now_ns() - start);
	cpu = bench_cpu_ns(collector) - cpu;

	tell(&events, &clocks, took_ns);
	if (collector)
		bench_emit(100.0 * (double)cpu / took_ns, "%s.%u.collector_cpu_percent",
			   how->spin ? "spin" : "pace", (unsigned)(1000000000u / how->period_ns));
}

int main(int argc, char **argv)
{
	double rate = bench_option(argc, argv, "rate", 10000);
	double seconds = bench_option(argc, argv, "seconds", 3);
	struct paced how = { .spin = bench_option(argc, argv, "spin", 0) > 0 };
	unsigned i;

	bench_pin();
	if (rate < 1 || rate > 1e7)
		bench_die("a rate from 1 to 10000000 events/s is needed");
	if (!getenv(CTP_ENV_SHM) && !bench_region_alone(NR_COROUTINES))
		bench_die("cannot make a region");
	for (i = 0; i < NR_COROUTINES; i++)
		if (corotracer_begin(&coroutines[i], NULL) < 0)
			bench_die("not traced; does the collector have 100 stations?");
	how.period_ns = (uint64_t)(1e9 / rate);
	how.ns_per_tick = bench_ns_per_tick();
	how.overhead = counter_cost();
	measure(&how, seconds);
	return 0;
}

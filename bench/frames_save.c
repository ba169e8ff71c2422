/* SPDX-License-Identifier: MIT */
/*
 * frames_save.c - the cost of a frame: snapshot of the time, and save().
 *
 * Built once for each kind of generated code; KIND is its name in the keys.  Attached means a
 * ring of 4096 slots that is never read.  As in event.c, all subjects are measured in short
 * runs that take turns, and the cost of the empty loop is subtracted.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <corotracer/probe.h>

#include HEADER
#include "frames_collector.h"

#define CAT_(a, b, c) a##b##c
#define CAT(a, b, c)  CAT_(a, b, c)
#define N(name)       CAT(CAT(ppt_, BUFFER, _), name, )
#define FRAMES_A_RUN  1000u

extern struct ppt_hmem CAT(__ppt_, BUFFER, _hmem);

static struct N(work) frame;

static void run_nothing(void)
{
	struct N(work) *f = &frame;
	unsigned i;

	for (i = 0; i < FRAMES_A_RUN; i++)
		BENCH_LAUNDER(f);
}

static void run_clock(void)
{
	struct timespec ts, *p = &ts;
	unsigned i;

	for (i = 0; i < FRAMES_A_RUN; i++) {
		clock_gettime(CLOCK_MONOTONIC, p);
		BENCH_LAUNDER(p);
	}
}

static void run_ticks(void)
{
	unsigned i;

	for (i = 0; i < FRAMES_A_RUN; i++) {
		uint64_t ticks = ctp_ticks();

		BENCH_LAUNDER(ticks);
	}
}

static void run_save(void)
{
	struct N(work) *f = &frame;
	unsigned i;

	for (i = 0; i < FRAMES_A_RUN; i++) {
		BENCH_LAUNDER(f);
		N(work_snapshot_when)(f);
		N(work_save)(f);
	}
}

struct subject {
	const char *name;
	void (*run)(void);
	struct bench_samples samples;
};

static void measure(struct subject *subjects, size_t nr, double seconds)
{
	uint64_t until = bench_now_ns() + (uint64_t)(seconds * 1e9);
	size_t i;

	while (bench_now_ns() < until) {
		for (i = 0; i < nr; i++) {
			uint64_t from = bench_now_ns();

			subjects[i].run();
			bench_sample(&subjects[i].samples,
				     (double)(bench_now_ns() - from) / FRAMES_A_RUN);
		}
	}
}

static void tell(struct subject *subjects, size_t nr, const char *prefix)
{
	double bare = bench_best(&subjects[0].samples);
	size_t i;

	for (i = 1; i < nr; i++) {
		double cost = bench_best(&subjects[i].samples) - bare;

		bench_emit(cost > 0 ? cost : 0, "frames.%s.%s%s_ns", KIND, prefix,
			   subjects[i].name);
		free(subjects[i].samples.values);
	}
	free(subjects[0].samples.values);
}

int main(int argc, char **argv)
{
	double seconds = bench_option(argc, argv, "seconds", 1);
	struct subject idle[] = { { "nothing", run_nothing, { 0 } }, { "save", run_save, { 0 } } };
	struct subject live[] = { { "nothing", run_nothing, { 0 } },
				  { "clock", run_clock, { 0 } },
				  { "ticks", run_ticks, { 0 } },
				  { "save", run_save, { 0 } } };
	struct collector c = { .hmem = &CAT(__ppt_, BUFFER, _hmem),
			       .frame_size = (uint32_t)offsetof(struct N(work), __ppt_seqno_back) +
					     4 };

	bench_pin();
	measure(idle, 2, seconds / 4);
	tell(idle, 2, "idle_");
	c.stride = (c.frame_size + 7) & ~7u;
	collector_create(&c, 4096, 0);
	collector_offer(&c);
	run_save();
	if (!collector_attached(&c))
		bench_die("the generated code did not attach");
	measure(live, 4, seconds);
	tell(live, 4, "");
	collector_close(&c);
	return 0;
}

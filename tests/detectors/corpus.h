/* SPDX-License-Identifier: MIT */
/*
 * corpus.h - shared by the scenarios of the detectors.
 *
 * Each scenario simulates a small program: its coroutines are resumed and suspended by
 * explicit calls in the order of a scheduler, so that the bug is visible in the source.
 * Times are real.
 */
#ifndef TESTS_DETECTORS_CORPUS_H
#define TESTS_DETECTORS_CORPUS_H

#include <corotracer/corotracer.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct scenario {
	const char *name;
	void (*play)(void);
};

static inline void pause_ms(unsigned ms)
{
	struct timespec ts = { (time_t)(ms / 1000), (long)(ms % 1000) * 1000000 };

	while (nanosleep(&ts, &ts) < 0)
		;
}

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A correct coroutine: created, waits @times briefly, destroyed. */
static inline void quick_life(const char *name, uint32_t reason, uint64_t resource, int times)
{
	struct corotracer_coro co;

	corotracer_spawn(&co, name, NULL);
	corotracer_resume(&co);
	while (times-- > 0) {
		corotracer_suspend_on(&co, NULL, COROTRACER_HERE, reason, resource);
		corotracer_wake(&co, NULL);
		corotracer_resume(&co);
	}
	corotracer_end(&co);
}

static inline int corpus_main(int argc, char **argv, const struct scenario *s)
{
	const struct scenario *first = s;

	corotracer_init();
	for (; argc == 2 && s->name; s++) {
		if (!strcmp(s->name, argv[1])) {
			s->play();
			return 0;
		}
	}
	fprintf(stderr, "usage: %s SCENARIO, one of\n", argv[0]);
	for (s = first; s->name; s++)
		fprintf(stderr, "  %s\n", s->name);
	return 2;
}

#endif

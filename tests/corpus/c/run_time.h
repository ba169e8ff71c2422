/* SPDX-License-Identifier: MIT */
/*
 * run_time.h - how long a program of the corpus runs before it leaves what still waits.
 *
 * The runner says in CORPUS_EXTRA_MS for how long it will stop the program: that is added.
 */
#ifndef TESTS_CORPUS_RUN_TIME_H
#define TESTS_CORPUS_RUN_TIME_H

#include <stdint.h>
#include <stdlib.h>

/* In ns; a pause of less than a second stays as it is. */
static inline uint64_t run_time_ns(unsigned ms)
{
	const char *extra = getenv("CORPUS_EXTRA_MS");

	if (extra && ms >= 1000)
		ms += (unsigned)atoi(extra);
	return ms * 1000000ull;
}

#endif

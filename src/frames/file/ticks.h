/* SPDX-License-Identifier: MIT */
/* ticks.h - read the cycle counter and the clock at the same time. */
#ifndef FRAMES_FILE_TICKS_H
#define FRAMES_FILE_TICKS_H

#include <stdint.h>

#include "base/monotonic.h"

static inline uint64_t ticks_read(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t ticks;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return clock_now_ns();
#endif
}

/* Take the narrowest of a few pairs: the time between the two readings is the error. */
static inline void ticks_now(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;
	int i;

	*ticks = *ns = 0;
	for (i = 0; i < 5; i++) {
		uint64_t before = ticks_read(), now = clock_now_ns(), after = ticks_read();

		if (after - before >= best)
			continue;
		best = after - before;
		*ticks = before + best / 2;
		*ns = now;
	}
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * coarse_counter.h - the cycle counter in steps of coarse_step ticks, for code that is compiled
 * with this file before all others (-include): a counter that stands still for many events.
 *
 * On x86-64.  Elsewhere the counter is the machine's.
 */
#ifndef COARSE_COUNTER_H
#define COARSE_COUNTER_H

#include <stdint.h>

extern uint64_t coarse_step;

static inline uint64_t coarse_ticks(void)
{
#if defined(__x86_64__)
	uint32_t low, high;
	uint64_t ticks;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	ticks = (uint64_t)high << 32 | low;
	return ticks - ticks % coarse_step;
#else
	return 0;
#endif
}

#define __builtin_ia32_rdtsc coarse_ticks

#endif

/* SPDX-License-Identifier: MIT */
/* monotonic.h - CLOCK_MONOTONIC in nanoseconds. */
#ifndef BASE_MONOTONIC_H
#define BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC UINT64_C(1000000000)
#define NS_PER_MS  UINT64_C(1000000)
#define NS_PER_US  UINT64_C(1000)

static inline uint64_t monotonic_clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return monotonic_clock_ns(CLOCK_MONOTONIC);
}

#endif

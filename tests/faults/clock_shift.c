/* SPDX-License-Identifier: MIT */
/*
 * clock_shift.c - preloaded into the collector: from some moment on its clocks are others.
 *
 *	CLOCK_SHIFT_WHEN	the moment: when this file exists
 *	CLOCK_SHIFT_BOOT	seconds to add to CLOCK_BOOTTIME, as after a suspension
 *	CLOCK_SHIFT_WALL	seconds to add to CLOCK_REALTIME, as when it is set
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long shift_of(clockid_t id)
{
	const char *when = getenv("CLOCK_SHIFT_WHEN"), *text = NULL;

	if (!when || (id != CLOCK_BOOTTIME && id != CLOCK_REALTIME) || access(when, F_OK) != 0)
		return 0;
	text = getenv(id == CLOCK_BOOTTIME ? "CLOCK_SHIFT_BOOT" : "CLOCK_SHIFT_WALL");
	return text ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);

	ts->tv_sec += shift_of(id);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * counters.h - counters of the processor and the kernel, by their libpfm4 names.
 *
 * Each thread of the program opens them from the attributes in the control block.  The collector
 * first opens each counter for itself: a counter that this machine lacks is an error in the
 * collector and not zeros in the program.
 */
#ifndef FRAMES_LIVE_COUNTERS_H
#define FRAMES_LIVE_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "frames/file/recording_writer.h"

#define COUNTERS_MAX RECORDING_COUNTERS_MAX

struct counters {
	unsigned nr;
	char *names[COUNTERS_MAX]; /* as typed */
	struct perf_event_attr attrs[COUNTERS_MAX];
	char warning[256]; /* a warning for the user; "" if none */
};

/* Adds the names of @list, separated by commas; may be called again. */
int counters_add(struct counters *c, const char *list, struct err *err);

/* Look up and test the counters.  @privileged: the program may count kernel mode on its behalf. */
int counters_resolve(struct counters *c, bool privileged, struct err *err);

/* Print the counters that work on this machine, one per line. */
int counters_list(FILE *out, struct err *err);

void counters_release(struct counters *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * counters.h - the processor's and the kernel's counters, by the names of libpfm4.
 *
 * The program opens them, in each of its threads, from the descriptions that we put into
 * the control block.  We try each of them first, on ourselves: a counter that this
 * machine lacks is an error here and not zeros there.
 */
#ifndef FRAMES_COUNTERS_H
#define FRAMES_COUNTERS_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

#define COUNTERS_MAX 3

struct counters {
	unsigned nr;
	char *names[COUNTERS_MAX]; /* as typed */
	struct perf_event_attr attrs[COUNTERS_MAX];
	char warning[256]; /* what a user should know about them; "" */
};

/* Adds the names of @list, separated by commas; may be called again. */
int counters_add(struct counters *c, const char *list, struct err *err);

/*
 * Looks them up, and tries them.  @privileged: the program may count what the kernel does
 * on its behalf.
 */
int counters_resolve(struct counters *c, bool privileged, struct err *err);

/* Those that work on this machine, a line each. */
int counters_list(FILE *out, struct err *err);

void counters_release(struct counters *c);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * wake_tracepoint.h - the kernel's tracepoint sched:sched_waking: a thread is woken.
 *
 * Its number and layout are in tracefs, which only root may read on most systems.  It fires where
 * the wake-up is made, often in an interrupt and in any process, so it is recorded on all
 * processors, for all threads: that needs CAP_PERFMON, or kernel.perf_event_paranoid -1.
 */
#ifndef PROCESS_WAKE_TRACEPOINT_H
#define PROCESS_WAKE_TRACEPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct wake_tracepoint {
	uint64_t number; /* 0: not known */
	uint32_t tid_at; /* offset of the woken thread in a record */
};

/* Find it in tracefs; -errno with a message and a hint in @err. */
int wake_tracepoint_find(struct wake_tracepoint *w, struct err *err);

/* Read its layout from the text of a file `format` of tracefs; false: it has no thread. */
bool wake_tracepoint_parse(struct wake_tracepoint *w, const char *text);

/* All wake-ups that are made on @cpu: a descriptor, or -1 with errno. */
int wake_tracepoint_open(const struct wake_tracepoint *w, unsigned cpu);

/* Say in @err why wake-ups cannot be recorded, by errno @why. */
void wake_tracepoint_explain(int why, struct err *err);

#endif

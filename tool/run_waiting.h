/* SPDX-License-Identifier: MIT */
/*
 * run_waiting.h - where the coroutines wait that existed before `run -p` attached.
 *
 * A coroutine that does not move while the program is attached has no event.  `corotracer why`
 * finds it in the memory of the program: another process looks in the background when the run
 * begins, and again at its end, if the program still runs.  Who is in both looks and unknown to the
 * collector has not moved.  Both looks are limited in time and memory; if they fail, the trace
 * lacks these facts, and it and the summary say why.
 */
#ifndef TOOL_RUN_WAITING_H
#define TOOL_RUN_WAITING_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/trace_writer.h"

/* Begin the first look at process @pid. */
void run_waiting_begin(pid_t pid);

/* Add the facts to a trace; collector_config.add_facts. */
void run_waiting_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			   bool has_attached);

/* Why the trace lacks facts; NULL: it does not. */
const char *run_waiting_missing(void);

/* End the look, if it still runs. */
void run_waiting_end(void);

#endif

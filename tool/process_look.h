/* SPDX-License-Identifier: MIT */
/* process_look.h - `corotracer why` as a process of its own: what it found, as JSON. */
#ifndef TOOL_PROCESS_LOOK_H
#define TOOL_PROCESS_LOOK_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define LOOK_WHY_SIZE 96

/* A process that looks, and its output. */
struct process_look {
	pid_t child;             /* 0: none */
	int fd;                  /* of the output, in memory */
	uint64_t ts;             /* its start: CLOCK_MONOTONIC in nanoseconds */
	const bool *is_unwanted; /* set by another thread to end the wait; NULL: none does */
};

/* Look at process @pid.  False: the look could not be started. */
bool process_look_begin(struct process_look *look, pid_t pid);

/* End it, if it runs. */
void process_look_end(struct process_look *look);

/*
 * Wait for its end (look_wait.h).  The output as JSON; NULL: there is none, and the reason is in
 * @why.
 */
json_t *process_look_take(struct process_look *look, char why[LOOK_WHY_SIZE]);

#endif

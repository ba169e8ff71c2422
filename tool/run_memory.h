/* SPDX-License-Identifier: MIT */
/*
 * run_memory.h - `run --mem`: the collector of memory accesses beside that of coroutines.
 *
 * It is a process of its own, which creates the shared memory before the program starts.  The
 * program finds it through the environment, as under `mem run`.
 */
#ifndef TOOL_RUN_MEMORY_H
#define TOOL_RUN_MEMORY_H

#include <stdbool.h>
#include <sys/types.h>

/* What follows the name of the trace in the default name of the memory trace. */
#define RUN_MEMORY_ENDING ".memory"

struct run_memory {
	bool wanted;
	const char *output; /* NULL: the name of the trace and RUN_MEMORY_ENDING */
	pid_t collector;    /* 0: none */
	int end_fd;         /* closed to end it */
};

/*
 * The name of the memory trace of @trace; false: too long.  A `/` at the end of @trace is left out.
 */
bool run_memory_name(const char *trace, char *buf, size_t size);

/* Start it, if it is wanted.  False after a message. */
bool run_memory_begin(struct run_memory *m, const char *trace, char *const *argv, bool json,
		      bool quiet);

/*
 * The program has ended: write the rest, print a summary.  Returns @status, or EXIT_FAILED instead
 * of EXIT_OK if something is missing.
 */
int run_memory_end(struct run_memory *m, int status);

#endif

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
#include <stddef.h>
#include <sys/types.h>

#include "memory/collect/region_heritage.h"
#include "trace/trace_writer.h"

/* What follows the name of the trace in the default name of the memory trace. */
#define RUN_MEMORY_ENDING ".memory"

struct run_memory {
	bool wanted;
	const char *output; /* NULL: the name of the trace and RUN_MEMORY_ENDING */
	const char *trace;  /* of coroutines */
	bool no_inherit;    /* the program gets no descriptor, only a path */
	struct region_heritage heritage;
	pid_t collector; /* 0: none */
	int end_fd;      /* a byte ends it: it sends the names of its files, and waits for EOF */
};

/*
 * The name of the memory trace of @trace; false: too long.  A `/` at the end of @trace is left out.
 */
bool run_memory_name(const char *trace, char *buf, size_t size);

/* Start it, if it is wanted.  False after a message. */
bool run_memory_begin(struct run_memory *m, const char *trace, char *const *argv, bool json,
		      bool quiet);

/*
 * The program has ended: write the rest of the memory traces, and say in the trace of coroutines
 * which they are.  For collector_config.add_facts, with the one that began last.
 */
void run_memory_add_facts(struct trace_writer *writer, pid_t pid, bool is_running,
			  bool has_attached);

/*
 * A fact for the memory trace @path, and one for each slice of a coroutine in it.  @trace: the
 * trace of coroutines.  Prints a message if it cannot be read.  In run_memory_facts.c.
 */
void run_memory_put_facts(struct trace_writer *writer, const char *trace, const char *path);

/*
 * The program has ended: write the rest, print a summary.  Returns @status, or EXIT_FAILED instead
 * of EXIT_OK if something is missing.
 */
int run_memory_end(struct run_memory *m, int status);

#endif

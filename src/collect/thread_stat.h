/* SPDX-License-Identifier: MIT */
/* thread_stat.h - what the kernel says of a thread: processor time, state, system call. */
#ifndef COLLECT_THREAD_STAT_H
#define COLLECT_THREAD_STAT_H

#include <stdbool.h>
#include <stdint.h>

struct thread_stat {
	uint64_t cpu_ns;    /* total time on a processor, as of the kernel's last tick */
	uint64_t queued_ns; /* total time of finished waits for a processor */
	const char *state;  /* TRACE_CPU_*, now */
	const char *call;   /* static string; NULL: none, or not readable */
};

/*
 * Read the counters of thread @tid of process @pid, and unless it is running also what it waits
 * for.  False: there is no such thread, or the kernel has no counters.
 */
bool thread_stat_read(uint32_t pid, uint64_t tid, struct thread_stat *out);

/* True if the main thread of @pid is stopped by a signal or a debugger. */
bool thread_stat_is_stopped(uint32_t pid);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * access_stat.h - statistics of a memory trace: lines, types, strides, reuse.
 */
#ifndef MEMORY_STAT_ACCESS_STAT_H
#define MEMORY_STAT_ACCESS_STAT_H

#include "memory/stat/reuse_distance.h"
#include "memory/format/mem_reader.h"
#include "memory/format/annotation_map.h"
#include "memory/stat/strides.h"
#include "base/strtab.h"

#define MEM_WINDOWS      32 /* number of windows if the length of the trace is known */
#define MEM_WINDOWS_MAX  4096
#define MEM_STAT_THREADS 64 /* threads with separate line statistics (per_thread) */

struct mem_stat_config {
	uint32_t line_size; /* a power of two */
	uint64_t window;    /* accesses per window; 0: the trace has MEM_WINDOWS of them */
	uint32_t lines_max; /* 0: LINES_MAX */
	bool per_thread;    /* also compute reuse distances per thread */
};

struct mem_stat_thread {
	uint32_t number;
	uint64_t reads, writes, bytes, missing;
	bool in_coroutine;         /* it runs one */
	struct reuse_lines *lines; /* NULL: none */
};

struct mem_stat_type {
	uint64_t reads, writes, bytes;
	uint64_t added, removed;
};

struct mem_stat_window {
	uint64_t accesses, lines;
	uint64_t time_ns; /* of its first access; 0: unknown */
};

struct mem_stat {
	struct mem_stat_config config;
	uint32_t line_shift;
	uint64_t reads, writes, bytes, annotations, weighted_256;
	uint64_t lost, left_out;
	uint64_t straddles;
	uint64_t resumes, in_coroutines; /* of coroutines; accesses in them */
	uint64_t allocations, allocated; /* heap blocks; their bytes */
	struct reuse_lines lines;
	struct strides strides;
	struct annotation_map regions;
	struct strtab names;
	struct mem_stat_type *types; /* by number in `names` */
	size_t types_size;
	struct mem_stat_thread *threads;
	size_t nr_threads, threads_size;
	struct u64map by_number;
	struct mem_stat_window windows[MEM_WINDOWS_MAX];
	size_t nr_windows;
	uint64_t window; /* accesses per window */
	bool windows_full;
};

/* Read @r to its end.  0 or -ENOMEM. */
int mem_stat_run(struct mem_stat *s, const struct mem_stat_config *config, struct mem_reader *r,
		 struct err *err);
void mem_stat_release(struct mem_stat *s);

#endif

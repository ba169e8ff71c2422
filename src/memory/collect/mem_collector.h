/* SPDX-License-Identifier: MIT */
/*
 * mem_collector.h - run a program and write the memory accesses of it and its children.
 *
 * The collector is a separate process: the program only writes into shared memory.  If the
 * collector is killed, the program continues without being traced; if the program is killed, its
 * records are still in shared memory and are written to the file.
 */
#ifndef MEMORY_COLLECT_MEM_COLLECTOR_H
#define MEMORY_COLLECT_MEM_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/collect/trace_files.h"

#define COLLECT_PACKERS_MAX 9

struct collect_config {
	const char *output; /* %p is the pid */
	char *const *argv;  /* the program; its name in the files if another process starts it */
	/*
	 * Not NULL: another process starts the program, with CACHERAY_REGION = @region.  The run
	 * ends when @until_fd can be read or is closed on the other side.
	 */
	void (*ready)(const char *region);
	int until_fd;
	bool raw;          /* write the raw Cacheray format instead of a container */
	bool drop;         /* on a full buffer: lose accesses (counted); else the thread waits */
	bool stacks;       /* record function entries and exits */
	bool no_inherit;   /* leave no descriptor open in the program, only a path */
	bool no_heap;      /* do not record blocks of the heap */
	const char *burst; /* ON/PERIOD, as in CACHERAY_OPTIONS; NULL: all the time */
	int level;         /* zstd level; 0: no compression */
	int packers;       /* threads that pack, at most COLLECT_PACKERS_MAX; 0: by processors */
	uint64_t max_size; /* of all files together; 0: no limit */
	uint64_t buffer;   /* bytes per thread */
	const char *tool;  /* name and version, for the files */
	/* Called periodically while the program runs; may be NULL. */
	void (*progress)(uint64_t size, uint64_t elapsed_ns);
};

struct collect_result {
	int exit_status, signal; /* of the program */
	uint64_t duration_ns;
	uint64_t threads, recovered; /* threads seen; of them, ended without closing their buffer */
	uint64_t refused;            /* threads or processes for which the region had no room */
	uint64_t broken;             /* corrupt entries in shared memory */
	bool capped, no_memory;
	struct outputs outputs; /* per file: name, counts, losses, error */
};

/*
 * 0 if the program was started, however it ended, or config->ready was called; else a negative
 * errno in @err.
 */
int collect_run(const struct collect_config *config, struct collect_result *result,
		struct err *err);
void collect_result_release(struct collect_result *result);

#endif

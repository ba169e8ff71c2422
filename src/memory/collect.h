/* SPDX-License-Identifier: MIT */
/*
 * collect.h - run a program, and write what it and its children do to memory.
 *
 * The collector is a process of its own: the program writes into shared memory and nothing
 * else.  If the collector is killed, the program goes on without being traced; if the
 * program is killed, what it had written is still there and goes to the file.
 */
#ifndef MEMORY_COLLECT_H
#define MEMORY_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "memory/outputs.h"

struct collect_config {
	const char *output; /* %p is the pid */
	char **argv;        /* the program */
	bool raw;           /* the seed's records instead of a container */
	bool drop;          /* when a buffer is full: drop, and count; else the thread waits */
	int level;          /* of zstd; 0: none */
	uint64_t max_size;  /* of all files; 0: no limit */
	uint64_t buffer;    /* bytes per thread */
	const char *tool;   /* name and version, for the files */
	/* Now and then, while it runs; NULL: no need. */
	void (*progress)(uint64_t size, uint64_t elapsed_ns);
};

struct collect_result {
	int exit_status, signal; /* the program's */
	uint64_t duration_ns;
	uint64_t threads, recovered; /* threads seen; of them, gone without saying so */
	uint64_t refused;            /* threads or processes for which the region had no room */
	uint64_t broken;             /* things in shared memory that made no sense */
	bool capped, no_memory;
	struct outputs outputs; /* per file: name, counts, losses, error */
};

/* 0 if the program was started, however it ended; else a negative errno with words. */
int collect_run(const struct collect_config *config, struct collect_result *result,
		struct err *err);
void collect_result_release(struct collect_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * options.h - parse CACHERAY_OPTIONS without libc.
 */
#ifndef RUNTIME_MEMORY_OPTIONS_H
#define RUNTIME_MEMORY_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CRT_LINE_CLASSES  64u /* lines are sampled by their number modulo this */
#define CRT_PATH_MAX      1024u
#define CRT_REGIONS_MAX   16u
#define CRT_PERIOD_MAX_MS 3600000u   /* of bursts */
#define CRT_BUFFER        (4u << 20) /* 64 chunks of 64 KiB */

struct crt_options {
	char tracefile[CRT_PATH_MAX]; /* %p is the pid, %% a percent sign */
	bool enabled;                 /* 0: no session until cacheray_start() is called */
	bool start;                   /* 0: no accesses are recorded before cacheray_start() */
	bool control;                 /* a thread serves requests of `mem ctl` */
	bool drop;                /* on a full buffer, lose accesses (counted) instead of waiting */
	int level;                /* zstd level; 0: no compression */
	uint64_t max_size;        /* bytes of the file; 0: no limit */
	uint64_t ring_size;       /* keep the newest bytes of blocks, up to this; 0: all */
	uint64_t burst, period;   /* record @burst of each @period accesses; 0: all */
	uint64_t on_ms, every_ms; /* record for @on_ms of each @every_ms; 0: all the time */
	bool heap;                /* record blocks of the heap */
	bool stacks;              /* record function entries and exits */
	uint64_t lines;           /* record one of @lines cache lines, whole; 0: all */
	uint64_t buffer;          /* bytes per thread */
	uint32_t nr_regions;
	struct {
		uint64_t from, to; /* [from, to) */
	} regions[CRT_REGIONS_MAX];
};

/*
 * Set the defaults, then apply @text (may be NULL).  False: the error is printed on stderr; do
 * not trace.
 */
bool crt_options_read(struct crt_options *o, const char *text);

/* The name of the trace file of process @pid.  @child: add the pid even without a %p. */
bool crt_options_path(const struct crt_options *o, uint32_t pid, bool child, char *out,
		      uint64_t size);

#endif

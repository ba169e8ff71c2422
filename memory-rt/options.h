/* SPDX-License-Identifier: MIT */
/*
 * options.h - CACHERAY_OPTIONS, read without a library.
 */
#ifndef MEMORY_RT_OPTIONS_H
#define MEMORY_RT_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define CRT_PATH_MAX    1024u
#define CRT_REGIONS_MAX 16u
#define CRT_BUFFER      (4u << 20) /* 64 chunks of 64 KiB */

struct crt_options {
	char tracefile[CRT_PATH_MAX]; /* %p is the pid, %% a percent sign */
	bool enabled;                 /* 0: nothing happens at all */
	bool start;                   /* 0: accesses are recorded from cacheray_start() on */
	bool drop;                    /* a full buffer drops (and counts) instead of waiting */
	int level;                    /* of zstd; 0: no compression */
	uint64_t max_size;            /* bytes of the file; 0: no end */
	uint64_t ring_size;           /* keep the newest so many bytes; 0: all */
	uint64_t burst, period;       /* record @burst of each @period accesses; 0: all */
	uint64_t buffer;              /* bytes per thread */
	uint32_t nr_regions;
	struct {
		uint64_t from, to; /* [from, to) */
	} regions[CRT_REGIONS_MAX];
};

/* Defaults, then what @text (may be NULL) says.  False: said on stderr, stay off. */
bool crt_options_read(struct crt_options *o, const char *text);

/* tracefile with the pid in it; @child: a file of its own even without a %p. */
bool crt_options_path(const struct crt_options *o, uint32_t pid, bool child, char *out,
		      uint64_t size);

#endif

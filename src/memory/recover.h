/* SPDX-License-Identifier: MIT */
/*
 * recover.h - complete the trace of a program that was killed while it ran alone.
 *
 * Its background thread died with it.  What the thread had written is in the trace; what the
 * program had recorded after that is in a region on tmpfs, named after the trace's file.
 */
#ifndef MEMORY_RECOVER_H
#define MEMORY_RECOVER_H

#include "base/err.h"

#include <stdint.h>

struct mem_recovered {
	uint64_t before, records; /* in the trace; found in the region */
	uint64_t threads;         /* that had some */
	uint64_t broken;          /* things in the region that made no sense */
};

/* Replaces the trace at @path, and then removes the region.  -ENOENT: there is no region. */
int mem_recover(const char *path, struct mem_recovered *result, struct err *err);

#endif

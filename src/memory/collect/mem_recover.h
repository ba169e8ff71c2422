/* SPDX-License-Identifier: MIT */
/*
 * mem_recover.h - complete the trace of a program that was killed while it ran alone.
 *
 * Its background thread was killed too.  The trace has what the thread had written; what the
 * program recorded after that is in a region on tmpfs, whose name derives from the trace file.
 */
#ifndef MEMORY_COLLECT_MEM_RECOVER_H
#define MEMORY_COLLECT_MEM_RECOVER_H

#include "base/err.h"

#include <stdint.h>

struct mem_recovered {
	uint64_t before, records; /* records in the trace; records found in the region */
	uint64_t threads;         /* threads with records in the region */
	uint64_t broken;          /* corrupt entries in the region */
};

/* Replace the trace at @path, then remove the region.  -ENOENT: there was no region. */
int mem_recover(const char *path, struct mem_recovered *result, struct err *err);

#endif

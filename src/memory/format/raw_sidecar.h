/* SPDX-License-Identifier: MIT */
/*
 * raw_sidecar.h - FILE.meta of a raw trace: the facts that raw records cannot store.
 *
 * One JSON object.  It may be missing or corrupt: the records do not depend on it.
 */
#ifndef MEMORY_FORMAT_RAW_SIDECAR_H
#define MEMORY_FORMAT_RAW_SIDECAR_H

#include "base/err.h"
#include "memory/format/mem_facts.h"

/* Read the sidecar of the trace at @path.  A corrupt sidecar is a fault, a missing one is not. */
void sidecar_read(const char *path, struct mem_facts *facts, struct mem_faults *faults);

/* Write the sidecar.  @missing: counts of what the raw format could not store. */
struct sidecar_missing {
	uint64_t pcs, attrs, marks, gaps; /* accesses with a pc, with attributes; marks; gaps */
	uint64_t coroutines;              /* changes of the coroutine that a thread runs */
	uint64_t allocations, calls;      /* blocks allocated; functions entered */
	uint64_t lost, left_out;          /* sums of the gaps */
};
int sidecar_write(const char *path, const struct mem_facts *facts,
		  const struct sidecar_missing *missing, struct err *err);

#endif

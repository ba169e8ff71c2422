/* SPDX-License-Identifier: MIT */
/*
 * sidecar.h - FILE.meta beside a raw trace: what the seed's records have no place for.
 *
 * One JSON object.  It may be missing, and it may be wrong: the records do not need it.
 */
#ifndef MEMORY_SIDECAR_H
#define MEMORY_SIDECAR_H

#include "base/err.h"
#include "memory/facts.h"

/* Of the trace at @path.  What is wrong with it is a fault, unless there is none. */
void sidecar_read(const char *path, struct mem_facts *facts, struct mem_faults *faults);

/* @missing: records of the trace that raw could not carry, for the reader to know. */
struct sidecar_missing {
	uint64_t pcs, attrs, marks, gaps; /* accesses with a pc, with attributes; events */
	uint64_t lost, left_out;          /* what the gaps told */
};
int sidecar_write(const char *path, const struct mem_facts *facts,
		  const struct sidecar_missing *missing, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * coroutine_slices.h - what each thread did in a memory trace, from one change of coroutine to the
 * next.
 */
#ifndef MEMORY_STAT_COROUTINE_SLICES_H
#define MEMORY_STAT_COROUTINE_SLICES_H

#include "base/err.h"
#include "memory/format/mem_reader.h"

struct memory_slice {
	uint64_t coroutine; /* its id in the trace of coroutines */
	uint64_t thread_id;
	uint64_t from_ns, to_ns;
	uint64_t accesses, writes, allocations, allocated;
	uint64_t offset; /* of the block in which it begins */
};

typedef void (*memory_slice_fn)(void *ctx, const struct memory_slice *slice);

/* Of the whole trace. */
struct memory_totals {
	uint64_t from_ns, to_ns; /* 0: no access has a time */
	uint64_t accesses, writes, allocations, allocated, lost;
	char build_id[65]; /* of the program's executable; empty: it has none */
};

/*
 * Reads @r to its end.  Calls @fn for each slice with an access or an allocation, in the order of
 * their ends; slices outside of the coroutines that a trace of coroutines knows are only part of
 * the totals.  0 or a negative errno.
 */
int memory_slices_read(struct mem_reader *r, memory_slice_fn fn, void *ctx,
		       struct memory_totals *totals, struct err *err);

/* What the head and the blocks say, without reading an access: no times of slices. */
void memory_totals_glance(const struct mem_reader *r, struct memory_totals *totals);

#endif

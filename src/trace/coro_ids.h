/* SPDX-License-Identifier: MIT */
/*
 * coro_ids.h - number the live coroutines of a trace, from 0 on.
 *
 * The key of a coroutine is its probe_id; where the trace has a station, probe_id and station,
 * because programs use addresses as ids and allocators reuse addresses.
 *
 * The number of an ended coroutine is reused: there are as many numbers as coroutines were
 * alive at one time.
 */
#ifndef TRACE_CORO_IDS_H
#define TRACE_CORO_IDS_H

#include "base/u64map.h"
#include "trace/event.h"

/* Allocator of numbers with a free list. */
struct numbers {
	uint32_t *free; /* released numbers */
	size_t nr_free, room;
	uint64_t next; /* the lowest number that was never allocated */
};

/* All zero is empty. */
struct coro_ids {
	struct u64map plain; /* without a station: probe_id to 1 + the number of the coroutine */
	/* The last one that was looked up there: a resume and a suspend follow each other. */
	uint64_t last_id, last_value; /* value 0: none */
	/* With a station: */
	struct u64map probes; /* probe_id to its number and the number of coroutines with it */
	struct u64map pairs;  /* that number and the station, to 1 + the number of the coroutine */
	struct numbers probe_numbers, coroutine_numbers;
	uint64_t entered; /* coroutines entered since the start */
};

/* Returns the number of the coroutine, allocating one if it is not known; -ENOMEM. */
int64_t coro_ids_enter(struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* Returns the number of the coroutine; -ENOENT if it is not known. */
int64_t coro_ids_find(const struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* The coroutine has ended: frees its number for reuse.  No effect if it is not known. */
void coro_ids_leave(struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* Number of coroutines ever entered. */
uint64_t coro_ids_count(const struct coro_ids *ids);

void coro_ids_release(struct coro_ids *ids);

#endif

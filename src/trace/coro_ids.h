/* SPDX-License-Identifier: MIT */
/*
 * coro_ids.h - number the coroutines of a trace, from 0 in order of appearance.
 *
 * A coroutine is known by its probe_id; where the trace names a station, by both,
 * because programs use addresses as ids and allocators use addresses again.
 */
#ifndef TRACE_CORO_IDS_H
#define TRACE_CORO_IDS_H

#include "base/u64map.h"
#include "trace/event.h"

/* All zero is empty. */
struct coro_ids {
	struct u64map probes; /* probe_id to 1 + its number among the probe_ids */
	struct u64map pairs;  /* that number and the station to 1 + the coroutine's number */
};

/* The number of the coroutine, a new one if it is new; -ENOMEM. */
int64_t coro_ids_enter(struct coro_ids *ids, uint64_t probe_id, uint32_t station);

/* Its number; -ENOENT if it is not in. */
int64_t coro_ids_find(const struct coro_ids *ids, uint64_t probe_id, uint32_t station);

size_t coro_ids_count(const struct coro_ids *ids);

void coro_ids_release(struct coro_ids *ids);

#endif

/* SPDX-License-Identifier: MIT */
/* coro_ids.c - number the coroutines of a trace. */
#include "trace/coro_ids.h"

#include <errno.h>

/* 1 + the number of @key, a new one if it is new; 0 without memory. */
static uint64_t enter(struct u64map *map, uint64_t key)
{
	uint64_t *value = u64map_at(map, key);

	if (!value)
		return 0;
	if (!*value)
		*value = u64map_count(map);
	return *value;
}

static uint64_t pair(uint64_t probe, uint32_t station)
{
	return probe << 32 | station;
}

int64_t coro_ids_enter(struct coro_ids *ids, uint64_t probe_id, uint32_t station)
{
	uint64_t probe = enter(&ids->probes, probe_id), number;

	/* 2^32 of them do not fit into any memory, but into a pair neither. */
	if (!probe || probe > UINT32_MAX)
		return -ENOMEM;
	number = enter(&ids->pairs, pair(probe, station));
	return number ? (int64_t)number - 1 : -ENOMEM;
}

int64_t coro_ids_find(const struct coro_ids *ids, uint64_t probe_id, uint32_t station)
{
	uint64_t probe, number;

	if (!u64map_get(&ids->probes, probe_id, &probe) ||
	    !u64map_get(&ids->pairs, pair(probe, station), &number))
		return -ENOENT;
	return (int64_t)number - 1;
}

size_t coro_ids_count(const struct coro_ids *ids)
{
	return u64map_count(&ids->pairs);
}

void coro_ids_release(struct coro_ids *ids)
{
	u64map_release(&ids->probes);
	u64map_release(&ids->pairs);
}

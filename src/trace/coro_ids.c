/* SPDX-License-Identifier: MIT */
/* coro_ids.c - number the live coroutines of a trace. */
#include "trace/coro_ids.h"

#include <errno.h>
#include <stdlib.h>

/* ---- numbers ------------------------------------------------------------- */

/* Returns -ENOMEM at 2^32 numbers: they fit neither in memory nor in a key of `pairs`. */
static int64_t coro_ids_take_number(struct numbers *n)
{
	if (n->nr_free)
		return n->free[--n->nr_free];
	return n->next < UINT32_MAX ? (int64_t)n->next++ : -ENOMEM;
}

/* If memory runs out the number is not reused, which only costs memory. */
static void coro_ids_give_back(struct numbers *n, uint64_t number)
{
	if (n->nr_free == n->room) {
		size_t room = n->room ? n->room * 2 : 64;
		uint32_t *more = reallocarray(n->free, room, sizeof(*more));

		if (!more)
			return;
		n->free = more;
		n->room = room;
	}
	n->free[n->nr_free++] = (uint32_t)number;
}

/* ---- probes: the number below, the users above --------------------------------- */

static uint64_t coro_ids_number_of(uint64_t probe)
{
	return (uint32_t)probe;
}

static uint64_t users_of(uint64_t probe)
{
	return probe >> 32;
}

#define ONE_USER (UINT64_C(1) << 32)

static uint64_t coro_ids_pair(uint64_t number, uint32_t station)
{
	return number << 32 | station;
}

/* Returns the map entry of the probe_id, with a number assigned; NULL: no memory. */
static uint64_t *enter_probe(struct coro_ids *ids, uint64_t probe_id)
{
	uint64_t *probe = u64map_at(&ids->probes, probe_id);
	int64_t number;

	if (!probe || users_of(*probe))
		return probe;
	number = coro_ids_take_number(&ids->probe_numbers);
	if (number < 0)
		return NULL;
	*probe = (uint64_t)number;
	return probe;
}

/* ---- coroutines without a station: all of them in most traces, and on the hot path ---- */

static int64_t coro_ids_enter_plain(struct coro_ids *ids, uint64_t probe_id)
{
	uint64_t *value;
	int64_t number;

	if (ids->last_value && ids->last_id == probe_id)
		return (int64_t)ids->last_value - 1;
	value = u64map_at(&ids->plain, probe_id);
	if (!value)
		return -ENOMEM;
	if (!*value) {
		number = coro_ids_take_number(&ids->coroutine_numbers);
		if (number < 0)
			return -ENOMEM;
		*value = (uint64_t)number + 1;
		ids->entered++;
	}
	ids->last_id = probe_id;
	ids->last_value = *value;
	return (int64_t)*value - 1;
}

static int64_t coro_ids_find_plain(const struct coro_ids *ids, uint64_t probe_id)
{
	uint64_t value;

	if (ids->last_value && ids->last_id == probe_id)
		return (int64_t)ids->last_value - 1;
	return u64map_get(&ids->plain, probe_id, &value) && value ? (int64_t)value - 1 : -ENOENT;
}

static void coro_ids_leave_plain(struct coro_ids *ids, uint64_t probe_id)
{
	int64_t number = coro_ids_find_plain(ids, probe_id);

	if (number < 0)
		return;
	if (ids->last_id == probe_id)
		ids->last_value = 0;
	u64map_remove(&ids->plain, probe_id);
	coro_ids_give_back(&ids->coroutine_numbers, (uint64_t)number);
}

/* ---- coroutines ---------------------------------------------------------- */

int64_t coro_ids_enter(struct coro_ids *ids, uint64_t probe_id, uint32_t station)
{
	uint64_t *probe, *value;
	int64_t number;

	if (station == TRACE_NO_STATION)
		return coro_ids_enter_plain(ids, probe_id);
	probe = enter_probe(ids, probe_id);
	value = probe ? u64map_at(&ids->pairs, coro_ids_pair(coro_ids_number_of(*probe), station))
		      : NULL;
	if (!value)
		return -ENOMEM;
	if (*value)
		return (int64_t)*value - 1;
	number = coro_ids_take_number(&ids->coroutine_numbers);
	if (number < 0)
		return -ENOMEM;
	*value = (uint64_t)number + 1;
	*probe += ONE_USER;
	ids->entered++;
	return number;
}

int64_t coro_ids_find(const struct coro_ids *ids, uint64_t probe_id, uint32_t station)
{
	uint64_t probe, number;

	if (station == TRACE_NO_STATION)
		return coro_ids_find_plain(ids, probe_id);
	if (!u64map_get(&ids->probes, probe_id, &probe) ||
	    !u64map_get(&ids->pairs, coro_ids_pair(coro_ids_number_of(probe), station), &number) ||
	    !number)
		return -ENOENT;
	return (int64_t)number - 1;
}

void coro_ids_leave(struct coro_ids *ids, uint64_t probe_id, uint32_t station)
{
	uint64_t *probe;
	int64_t number;

	if (station == TRACE_NO_STATION) {
		coro_ids_leave_plain(ids, probe_id);
		return;
	}
	number = coro_ids_find(ids, probe_id, station);
	if (number < 0)
		return;
	probe = u64map_at(&ids->probes, probe_id); /* exists: allocates nothing */
	u64map_remove(&ids->pairs, coro_ids_pair(coro_ids_number_of(*probe), station));
	coro_ids_give_back(&ids->coroutine_numbers, (uint64_t)number);
	*probe -= ONE_USER;
	if (users_of(*probe))
		return;
	coro_ids_give_back(&ids->probe_numbers, coro_ids_number_of(*probe));
	u64map_remove(&ids->probes, probe_id);
}

uint64_t coro_ids_count(const struct coro_ids *ids)
{
	return ids->entered;
}

void coro_ids_release(struct coro_ids *ids)
{
	u64map_release(&ids->plain);
	u64map_release(&ids->probes);
	u64map_release(&ids->pairs);
	free(ids->probe_numbers.free);
	free(ids->coroutine_numbers.free);
	*ids = (struct coro_ids){ 0 };
}

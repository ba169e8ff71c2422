/* SPDX-License-Identifier: MIT */
/* affected.c - the coroutines that a group of findings is about, each once. */
#include "analyze/affected.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/finding.h"

/*
 * A list is identified by its first entry, which never changes.  Ids beyond 2^44 may collide with
 * another list: then one coroutine is counted as omitted there.
 */
static uint64_t affected_key(uint32_t first, uint64_t probe_id)
{
	return (uint64_t)first << 44 ^ probe_id;
}

static struct affected *affected_find(const struct affected_pool *pool,
				      const struct affected_list *list, uint64_t probe_id)
{
	uint64_t number;

	if (!list->first ||
	    !u64map_get(&pool->numbers, affected_key(list->first, probe_id), &number) || !number)
		return NULL;
	return pool->all[number - 1].probe_id == probe_id ? &pool->all[number - 1] : NULL;
}

static bool affected_has_room(const struct affected_pool *pool, const struct affected_list *list)
{
	return list->nr < AFFECTED_LEAST || (list->nr < AFFECTED_GROUP && pool->nr < AFFECTED_ALL);
}

static bool affected_reserve(struct affected_pool *pool)
{
	size_t room = pool->room ? pool->room * 2 : 64;
	const struct affected **sorted;
	struct affected *all;

	if (pool->nr < pool->room)
		return true;
	all = realloc(pool->all, room * sizeof(*all));
	if (all)
		pool->all = all;
	sorted = realloc((void *)pool->sorted, room * sizeof(const struct affected *));
	if (sorted)
		pool->sorted = sorted;
	if (!all || !sorted) {
		pool->no_memory = true;
		return false;
	}
	pool->room = room;
	return true;
}

/* Append entry @number, which is 1 + its index, to the list. */
static bool affected_link(struct affected_pool *pool, struct affected_list *list, uint32_t number)
{
	struct affected *entry = &pool->all[number - 1];
	uint32_t first = list->first ? list->first : number;

	if (u64map_put(&pool->numbers, affected_key(first, entry->probe_id), number) < 0) {
		pool->no_memory = true;
		return false;
	}
	if (list->last)
		pool->all[list->last - 1].next = number;
	list->first = first;
	list->last = number;
	list->nr++;
	entry->next = 0;
	return true;
}

struct affected affected_of(const struct coro *co, const struct finding *finding)
{
	return (struct affected){
		.probe_id = co->probe_id,
		.parent = co->parent,
		.since_ts = co->since_ts,
		.tid = co->tid,
		.resource = co->resource,
		.lost = co->lost,
		.size_ns = finding->size_ns,
		.seen_ts = finding->seen_ts,
		.pid = co->pid,
		.name = co->name,
		.confidence = (uint8_t)finding->confidence,
		.state = co->state,
		.reason = co->reason,
		.has_resource = co->has_resource,
	};
}

void affected_add(struct affected_pool *pool, struct affected_list *list, const struct coro *co,
		  const struct finding *finding)
{
	struct affected *known = affected_find(pool, list, co->probe_id);

	if (known) {
		uint32_t next = known->next;

		if (finding->confidence < known->confidence ||
		    (finding->confidence == known->confidence &&
		     finding->size_ns <= known->size_ns))
			return;
		*known = affected_of(co, finding);
		known->next = next;
		return;
	}
	if (!affected_has_room(pool, list) || !affected_reserve(pool)) {
		list->omitted++;
		return;
	}
	pool->all[pool->nr] = affected_of(co, finding);
	if (affected_link(pool, list, (uint32_t)pool->nr + 1))
		pool->nr++;
	else
		list->omitted++;
}

void affected_join(struct affected_pool *pool, struct affected_list *to,
		   const struct affected_list *from)
{
	uint32_t number = from->first;

	to->omitted += from->omitted;
	while (number) {
		struct affected *entry = &pool->all[number - 1];
		uint32_t next = entry->next;
		struct affected *known = affected_find(pool, to, entry->probe_id);

		if (known) {
			if (entry->confidence > known->confidence) {
				uint32_t after = known->next;

				*known = *entry;
				known->next = after;
			}
		} else if (to->nr >= AFFECTED_GROUP || !affected_link(pool, to, number)) {
			to->omitted++;
		}
		number = next;
	}
}

const struct affected *affected_first(const struct affected_pool *pool,
				      const struct affected_list *list)
{
	return list->first ? &pool->all[list->first - 1] : NULL;
}

const struct affected *affected_next(const struct affected_pool *pool, const struct affected *at)
{
	return at->next ? &pool->all[at->next - 1] : NULL;
}

static int affected_compare(const void *a, const void *b)
{
	const struct affected *x = *(const struct affected *const *)a;
	const struct affected *y = *(const struct affected *const *)b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	if (x->size_ns != y->size_ns)
		return x->size_ns > y->size_ns ? -1 : 1;
	return x->probe_id < y->probe_id ? -1 : x->probe_id > y->probe_id;
}

const struct affected **affected_sorted(const struct affected_pool *pool,
					const struct affected_list *list)
{
	const struct affected **sorted = pool->sorted, *at;
	size_t i = 0;

	if (!list->nr)
		return NULL;
	for (at = affected_first(pool, list); at && i < list->nr; at = affected_next(pool, at))
		sorted[i++] = at;
	qsort(sorted, i, sizeof(const struct affected *), affected_compare);
	return sorted;
}

int affected_copy(struct affected_pool *copy, const struct affected_pool *pool)
{
	uint64_t key, number;
	size_t pos = 0;

	*copy = (struct affected_pool){ .nr = pool->nr, .room = pool->nr };
	if (!pool->nr)
		return 0;
	copy->all = malloc(pool->nr * sizeof(*copy->all));
	copy->sorted = calloc(pool->nr, sizeof(const struct affected *));
	if (!copy->all || !copy->sorted) {
		affected_release(copy);
		return -ENOMEM;
	}
	memcpy(copy->all, pool->all, pool->nr * sizeof(*copy->all));
	while (u64map_next(&pool->numbers, &pos, &key, &number)) {
		if (u64map_put(&copy->numbers, key, number) < 0) {
			affected_release(copy);
			return -ENOMEM;
		}
	}
	return 0;
}

void affected_release(struct affected_pool *pool)
{
	free(pool->all);
	free((void *)pool->sorted);
	u64map_release(&pool->numbers);
	*pool = (struct affected_pool){ 0 };
}

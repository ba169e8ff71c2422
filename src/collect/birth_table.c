/* SPDX-License-Identifier: MIT */
/* birth_table.c - create events that the flight recorder keeps, by coroutine id. */
#include "collect/birth_table.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define FIRST_SIZE 256u

void births_init(struct births *b, uint64_t limit)
{
	memset(b, 0, sizeof(*b));
	b->limit = limit;
	if (getrandom(b->seed, sizeof(b->seed), GRND_NONBLOCK) != sizeof(b->seed))
		b->seed[0] = b->seed[1] = (uintptr_t)b * UINT64_C(0x9E3779B97F4A7C15);
}

void births_release(struct births *b)
{
	size_t i;

	for (i = 0; i < b->size; i++)
		free(b->table[i]);
	free(b->table);
	memset(b, 0, sizeof(*b));
}

static size_t births_home(const struct births *b, uint64_t id)
{
	unsigned __int128 product = (unsigned __int128)(id ^ b->seed[0]) * (b->seed[1] | 1);

	return (size_t)(product ^ product >> 64) & (b->size - 1);
}

/* Index of @id, or of the empty entry where it belongs. */
static size_t births_find(const struct births *b, uint64_t id)
{
	size_t at = births_home(b, id);

	while (b->table[at] && b->table[at]->id != id)
		at = (at + 1) & (b->size - 1);
	return at;
}

static bool births_grow(struct births *b)
{
	struct births bigger = *b;
	size_t i;

	if (b->size && b->nr < b->size / 4 * 3)
		return true;
	bigger.size = b->size ? b->size * 2 : FIRST_SIZE;
	bigger.table = calloc(bigger.size, sizeof(struct birth *));
	if (!bigger.table)
		return false;
	for (i = 0; i < b->size; i++) {
		if (b->table[i])
			bigger.table[births_find(&bigger, b->table[i]->id)] = b->table[i];
	}
	free(b->table);
	*b = bigger;
	return true;
}

/* Estimated malloc size of one birth plus its share of the table. */
static uint64_t births_weight(uint32_t name_size)
{
	return (sizeof(struct birth) + name_size + 16 + 15) / 16 * 16 + 2 * sizeof(struct birth *);
}

bool births_keep(struct births *b, uint32_t lane, const struct trace_event *ev)
{
	struct birth *birth;
	size_t at;

	if (b->bytes + births_weight(ev->name_size) > b->limit || !births_grow(b))
		return false;
	at = births_find(b, ev->probe_id);
	if (b->table[at]) /* a duplicate id: no correct program writes one */
		return false;
	birth = malloc(sizeof(*birth) + ev->name_size);
	if (!birth)
		return false;
	*birth = (struct birth){
		.id = ev->probe_id,
		.ts = ev->ts,
		.tid = ev->tid,
		.parent = ev->peer,
		.lane = lane,
		.pid = ev->pid,
		.site = ev->site,
		.name_size = ev->name_size,
		.flags = ev->flags,
	};
	if (ev->name_size)
		memcpy(birth->name, ev->name, ev->name_size);
	b->table[at] = birth;
	b->nr++;
	b->bytes += births_weight(birth->name_size);
	return true;
}

/* Linear probing: move entries behind the hole up, so that every search still reaches them. */
static void close_ranks(struct births *b, size_t hole)
{
	size_t at = hole;

	for (;;) {
		at = (at + 1) & (b->size - 1);
		if (!b->table[at])
			return;
		/*
		 * The entry may fill the hole if its home is not between the hole and its own
		 * index.
		 */
		if (((at - births_home(b, b->table[at]->id)) & (b->size - 1)) >=
		    ((at - hole) & (b->size - 1))) {
			b->table[hole] = b->table[at];
			b->table[at] = NULL;
			hole = at;
		}
	}
}

bool births_drop(struct births *b, uint64_t id)
{
	size_t at;

	if (!b->nr)
		return false;
	at = births_find(b, id);
	if (!b->table[at])
		return false;
	b->bytes -= births_weight(b->table[at]->name_size);
	b->nr--;
	free(b->table[at]);
	b->table[at] = NULL;
	close_ranks(b, at);
	return true;
}

static int births_by_time(const void *a, const void *b)
{
	const struct birth *x = *(const struct birth *const *)a;
	const struct birth *y = *(const struct birth *const *)b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

const struct birth **births_sorted(const struct births *b)
{
	const struct birth **all = b->nr ? malloc(b->nr * sizeof(const struct birth *)) : NULL;
	size_t i, nr = 0;

	if (!all)
		return NULL;
	for (i = 0; i < b->size; i++) {
		if (b->table[i])
			all[nr++] = b->table[i];
	}
	qsort(all, nr, sizeof(const struct birth *), births_by_time);
	return all;
}

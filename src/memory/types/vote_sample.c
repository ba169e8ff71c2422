/* SPDX-License-Identifier: MIT */
/* vote_sample.c - which blocks of a trace take part in the vote on types. */
#include "memory/types/vote_sample.h"

#include <stdlib.h>

#include "base/u64map.h"

#define SAMPLE_KEYS_MAX (1u << 20) /* of each map; later ones do not make a block take part */

struct vote_sample {
	uint64_t nr;         /* blocks so far */
	bool was_new;        /* the last one had something new: its accesses may come later */
	struct u64map codes; /* address to the blocks with it that took part */
	struct u64map kinds; /* of allocations: the same */
};

struct vote_sample *vote_sample_new(void)
{
	return calloc(1, sizeof(struct vote_sample));
}

/* True if @key is in fewer blocks that took part than all are to be.  Without memory: it is. */
static bool sample_is_new(struct u64map *map, uint64_t key)
{
	uint64_t value, *at;

	if (u64map_count(map) >= SAMPLE_KEYS_MAX)
		return u64map_get(map, key, &value) && value < VOTE_BLOCKS_FIRST;
	at = u64map_at(map, key);
	return !at || *at < VOTE_BLOCKS_FIRST;
}

static void sample_count(struct u64map *map, uint64_t key)
{
	uint64_t value;

	if (u64map_get(map, key, &value))
		u64map_put(map, key, value + 1); /* it exists: needs no memory */
}

static uint64_t sample_kind(const struct mem_record *r)
{
	uint64_t key = ((uint64_t)r->stack << 32 ^ r->pc) * UINT64_C(0x9e3779b97f4a7c15);

	return (key ^ key >> 29 ^ r->value) * UINT64_C(0xbf58476d1ce4e5b9);
}

/* True if the block has code, or a kind of allocation, that is new. */
static bool sample_has_new(struct vote_sample *s, const struct unpack *block)
{
	struct unpack_peek peek;
	struct mem_record record;
	uint64_t pc;
	bool found = false;

	unpack_peek_begin(block, &peek);
	while (unpack_peek_site(&peek, &pc))
		found |= sample_is_new(&s->codes, pc);
	while (unpack_peek_allocation(&peek, &record))
		found |= sample_is_new(&s->kinds, sample_kind(&record));
	return found;
}

static void sample_take(struct vote_sample *s, const struct unpack *block)
{
	struct unpack_peek peek;
	struct mem_record record;
	uint64_t pc;

	unpack_peek_begin(block, &peek);
	while (unpack_peek_site(&peek, &pc))
		sample_count(&s->codes, pc);
	while (unpack_peek_allocation(&peek, &record))
		sample_count(&s->kinds, sample_kind(&record));
}

uint32_t vote_sample_wants(void *sample, const struct unpack *block)
{
	struct vote_sample *s = sample;
	bool is_new = sample_has_new(s, block);
	bool all = is_new || s->was_new || s->nr < VOTE_BLOCKS_ALL;
	bool wants = all || s->nr % VOTE_BLOCKS_STEP == 0;

	s->nr++;
	s->was_new = is_new;
	if (wants)
		sample_take(s, block);
	return all ? 1 : wants ? VOTE_BLOCKS_STEP : 0;
}

void vote_sample_free(struct vote_sample *s)
{
	if (!s)
		return;
	u64map_release(&s->codes);
	u64map_release(&s->kinds);
	free(s);
}

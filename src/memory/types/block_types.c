/* SPDX-License-Identifier: MIT */
/* block_types.c - the types of heap blocks: votes of instructions, by call stack and size. */
#include "memory/types/block_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "memory/types/alloc_types.h"
#include "memory/types/block_votes.h"

#define VOTES_KEPT   512u  /* different votes of a group; later ones are counted only */
#define VOTES_SHORT  16u   /* a list that is searched vote by vote */
#define VOTES_HASHED 1024u /* a power of two, at least twice VOTES_KEPT */
#define VOTES_ALL    256u  /* of one instruction; then one in VOTES_SAMPLE counts */
#define VOTES_SAMPLE 16u
#define VOTES_PCS    4096u /* a power of two */
#define VOTER_BITS   14u
#define VOTES_AHEAD  32u /* accesses whose blocks are fetched together */
#define BULK_BYTES   16u /* an access of as many is a copy, or of a vector */

/* The blocks of one call stack, of all sizes. */
struct block_site {
	uint32_t type; /* that of its groups, the one with most fields; 0: none or several */
	bool has_several;
	uint64_t silent, bytes; /* of groups without a type; see vote_list */
};

/* What is known of the accesses of one instruction that counted. */
struct block_voter {
	uint64_t pc;
	uint32_t group;     /* of its last vote; 0: none */
	uint32_t vote;      /* in the list of that group: 1 + index */
	uint8_t bytes;      /* of the accesses that the rest is for; 0: of none yet */
	bool is_write;      /* the same */
	bool is_tail;       /* in an array at the end of a struct that is not known */
	uint64_t size;      /* of the accessed type; 0: they are not votes */
	uint64_t remainder; /* of the offset in the type, divided by its size */
	const struct access_type *found;
};

struct block_types {
	struct types *types;
	struct access_types *accesses;
	struct heap_blocks live;
	struct u64map by_key;
	struct u64map by_site; /* block_site_key() to 1 + index */
	struct block_site *sites;
	uint32_t nr_sites, room_sites;
	struct u64map by_pc; /* of an allocating call to 1 + the type that it is for */
	struct block_group *groups;
	struct vote_list *lists;
	uint32_t nr, room;
	uint32_t stands_for; /* votes that an access counts as */
	struct {
		uint64_t pc;
		uint32_t count;
	} seen[VOTES_PCS];
	struct block_voter voters[1u << VOTER_BITS];
};

struct block_types *block_types_new(struct types *types, struct access_types *accesses)
{
	struct block_types *b = calloc(1, sizeof(*b));

	if (b) {
		b->types = types;
		b->accesses = accesses;
		b->stands_for = 1;
	}
	return b;
}

/* ---- blocks and groups ------------------------------------------------------- */

static int block_groups_grow(struct block_types *b)
{
	uint32_t room = b->room ? b->room * 2 : 256;
	struct block_group *groups;
	struct vote_list *lists;

	groups = realloc(b->groups, room * sizeof(*groups));
	if (groups)
		b->groups = groups;
	lists = realloc(b->lists, room * sizeof(*lists));
	if (lists)
		b->lists = lists;
	if (!groups || !lists)
		return -ENOMEM;
	b->room = room;
	return 0;
}

/* The type that the allocating call is for; 0: not known. */
static uint32_t block_given(struct block_types *b, uint64_t pc)
{
	uint64_t *at = u64map_at(&b->by_pc, pc);

	if (!at)
		return 0;
	if (!*at)
		*at = (uint64_t)alloc_types_at(b->types, pc) + 1;
	return (uint32_t)*at - 1;
}

static uint64_t block_group_key(const struct heap_site *site, uint64_t size)
{
	uint64_t key = ((uint64_t)site->stack << 32 ^ site->pc) * UINT64_C(0x9e3779b97f4a7c15);

	key = (key ^ key >> 29 ^ size) * UINT64_C(0xbf58476d1ce4e5b9);
	return key ^ key >> 32;
}

/* The number of the group of a block, from 1; 0: too many groups.  -ENOMEM. */
static int64_t block_group_of(struct block_types *b, const struct heap_block *block)
{
	struct heap_site *site = heap_blocks_site(&b->live, block->site);
	uint64_t size = block->end - block->start, *at;
	uint32_t given;

	if (site->note && site->noted_size == size)
		return site->note;
	at = u64map_at(&b->by_key, block_group_key(site, size));
	if (!at)
		return -ENOMEM;
	if (*at) {
		site->note = (uint32_t)*at;
		site->noted_size = size;
		return site->note;
	}
	if (b->nr == BLOCK_GROUPS_MAX)
		return 0;
	if (b->nr == b->room && block_groups_grow(b) < 0)
		return -ENOMEM;
	b->lists[b->nr] = (struct vote_list){ 0 };
	given = block_given(b, site->pc);
	b->groups[b->nr] = (struct block_group){
		.size = size,
		.pc = site->pc,
		.stack = site->stack,
		.given = given,
	};
	*at = ++b->nr;
	return b->nr;
}

const struct block_group *block_types_find(const struct block_types *b, struct heap_site *site,
					   uint64_t size)
{
	uint64_t number;

	if (!site->note || site->noted_size != size) {
		if (!u64map_get(&b->by_key, block_group_key(site, size), &number))
			number = 0;
		site->note = (uint32_t)number + 1;
		site->noted_size = size;
	}
	return block_types_group(b, site->note - 1);
}

/* ---- votes ----------------------------------------------------------------- */

/* True if this access of the instruction counts: not all accesses of a hot loop are needed. */
static bool block_is_sampled(struct block_types *b, uint64_t pc)
{
	uint32_t slot = (uint32_t)((pc ^ pc >> 12) & (VOTES_PCS - 1));

	if (b->seen[slot].pc != pc) {
		b->seen[slot].pc = pc;
		b->seen[slot].count = 0;
	}
	b->seen[slot].count++;
	return b->seen[slot].count <= VOTES_ALL || b->seen[slot].count % VOTES_SAMPLE == 0;
}

static bool block_same_vote(const struct block_vote *a, const struct block_vote *b)
{
	return a->type == b->type && a->offset == b->offset && a->distance == b->distance;
}

/* The place of a vote like @vote in the table of a long list, or the free one for it. */
static uint16_t *block_vote_place(const struct vote_list *list, const struct block_vote *vote)
{
	uint64_t hash = (vote->type ^ vote->offset << 20 ^ vote->distance << 40) *
			UINT64_C(0x9e3779b97f4a7c15);
	uint32_t i = (uint32_t)(hash >> 48);
	uint16_t *at;

	while (*(at = &list->by_hash[i++ & (VOTES_HASHED - 1)])) {
		if (block_same_vote(&list->votes[*at - 1], vote))
			break;
	}
	return at;
}

static struct block_vote *block_find_vote(const struct vote_list *list,
					  const struct block_vote *vote)
{
	uint32_t i;

	if (list->by_hash) {
		i = *block_vote_place(list, vote);
		return i ? &list->votes[i - 1] : NULL;
	}
	for (i = 0; i < list->nr; i++) {
		if (block_same_vote(&list->votes[i], vote))
			return &list->votes[i];
	}
	return NULL;
}

/* Add a vote to the table, which is made when the list becomes long.  Without memory: no table. */
static void block_hash_vote(struct vote_list *list)
{
	uint32_t i = list->nr - 1;

	if (!list->by_hash && list->nr > VOTES_SHORT) {
		list->by_hash = calloc(VOTES_HASHED, sizeof(*list->by_hash));
		i = 0;
	}
	for (; list->by_hash && i < list->nr; i++)
		*block_vote_place(list, &list->votes[i]) = (uint16_t)(i + 1);
}

static void block_repeat_vote(struct block_vote *v, uint64_t at, uint64_t count)
{
	v->count += count;
	v->first = at < v->first ? at : v->first;
	v->last = at > v->last ? at : v->last;
}

/* Returns 1 + the index of the vote in the list; 0: it is not kept; -ENOMEM. */
static int block_add_vote(struct vote_list *list, const struct block_vote *vote)
{
	struct block_vote *v = block_find_vote(list, vote), *more;

	if (v) {
		block_repeat_vote(v, vote->first, vote->count);
		return (int)(v - list->votes) + 1;
	}
	if (list->nr == VOTES_KEPT) {
		list->others += vote->count;
		return 0;
	}
	if (list->nr % 8 == 0) {
		more = realloc(list->votes, (list->nr + 8) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		list->votes = more;
	}
	list->votes[list->nr++] = *vote;
	block_hash_vote(list);
	return (int)list->nr;
}

static void block_release_list(struct vote_list *list)
{
	free(list->votes);
	free(list->by_hash);
	*list = (struct vote_list){ 0 };
}

/* An allocation, or its end. */
static int block_take(struct block_types *b, const struct mem_record *r)
{
	struct heap_block block;

	if (heap_blocks_record(&b->live, r) < 0)
		return -ENOMEM;
	if (r->kind != MEM_ALLOC || !block_given(b, r->pc) ||
	    !heap_blocks_find(&b->live, r->address, 0, &block))
		return 0;
	return block_group_of(b, &block) < 0 ? -ENOMEM : 0;
}

/* Fill in what the accesses of the instruction like @a are. */
static void block_know(struct block_types *b, struct block_voter *voter, const struct mem_access *a)
{
	struct access_type *found = access_types_find(b->accesses, a->pc, a->is_write);
	const struct type_member *tail;

	voter->pc = a->pc;
	voter->bytes = a->size;
	voter->is_write = a->is_write;
	voter->found = found;
	voter->group = 0;
	voter->size = access_tells_field(b->types, found, a->size)
			      ? types_get(b->types, found->type)->size
			      : 0;
	if (!voter->size)
		return;
	tail = type_tail(types_get(b->types, found->type));
	voter->is_tail = tail && found->offset >= tail->offset;
	voter->remainder = found->offset % voter->size;
}

/*
 * Where the start of the object is, modulo its size, if @place in the block is accessed as the
 * instruction says.  In an array at the end of a struct that is not known: 0.
 */
static uint64_t block_distance(const struct block_voter *voter, uint64_t place)
{
	uint64_t distance = place + voter->size - voter->remainder;

	if (voter->is_tail)
		return 0;
	distance -= distance >= voter->size ? voter->size : 0;
	return distance < voter->size ? distance : distance % voter->size;
}

/* The instruction votes on the group: that @at in the block is what it accesses. */
static int block_count_vote(struct block_types *b, struct block_voter *voter, uint32_t group,
			    uint64_t at)
{
	struct vote_list *list = &b->lists[group - 1];
	struct block_vote vote = { .type = voter->found->type,
				   .is_record = voter->found->is_record,
				   .offset = voter->found->offset,
				   .distance = block_distance(voter, at),
				   .first = at,
				   .last = at,
				   .size = voter->bytes,
				   .count = b->stands_for };
	int ret;

	if (voter->group == group && block_same_vote(&list->votes[voter->vote - 1], &vote)) {
		block_repeat_vote(&list->votes[voter->vote - 1], at, b->stands_for);
		return 0;
	}
	ret = block_add_vote(list, &vote);
	voter->group = ret > 0 ? group : 0;
	voter->vote = ret > 0 ? (uint32_t)ret : 0;
	return ret < 0 ? ret : 0;
}

/* The vote of an access that counts. */
static int block_vote_of(struct block_types *b, const struct mem_access *a)
{
	struct block_voter *voter =
		&b->voters[a->pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - VOTER_BITS)];
	struct heap_block block;
	int64_t group;

	if (!heap_blocks_find(&b->live, a->address, a->pc, &block))
		return 0;
	if (voter->pc != a->pc || !voter->bytes || voter->bytes != a->size ||
	    voter->is_write != a->is_write)
		block_know(b, voter, a);
	group = block_group_of(b, &block);
	if (group <= 0)
		return (int)group;
	if (!voter->size) {
		b->lists[group - 1].silent += b->stands_for;
		if (a->size == 1 || a->size >= BULK_BYTES)
			b->lists[group - 1].bytes += b->stands_for;
		return 0;
	}
	return block_count_vote(b, voter, (uint32_t)group, a->address - block.start);
}

int block_types_vote(struct block_types *b, const struct mem_record *r)
{
	const struct mem_access access = { .address = r->address,
					   .pc = r->pc,
					   .size = r->size,
					   .is_write = r->kind == MEM_WRITE };

	if (!mem_is_access(r))
		return block_take(b, r);
	return block_is_sampled(b, r->pc) ? block_vote_of(b, &access) : 0;
}

static int block_vote_all(struct block_types *b, const struct mem_access *const *chosen, size_t nr)
{
	int ret = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		heap_blocks_fetch_block(&b->live, chosen[i]->address);
	for (i = 0; ret == 0 && i < nr; i++)
		ret = block_vote_of(b, chosen[i]);
	return ret;
}

int block_types_vote_run(struct block_types *b, const struct mem_access *access, size_t nr,
			 uint32_t stands_for)
{
	const struct mem_access *a = access, *end = access + nr, *chosen[VOTES_AHEAD];
	size_t nr_chosen = 0;
	int ret = 0;

	b->stands_for = stands_for;
	for (; ret == 0 && a < end; a++) {
		if (!block_is_sampled(b, a->pc))
			continue;
		chosen[nr_chosen++] = a;
		heap_blocks_fetch_place(&b->live, a->address);
		if (nr_chosen == VOTES_AHEAD) {
			ret = block_vote_all(b, chosen, nr_chosen);
			nr_chosen = 0;
		}
	}
	return ret == 0 ? block_vote_all(b, chosen, nr_chosen) : ret;
}

/* ---- sites ------------------------------------------------------------------- */

static uint64_t block_site_key(uint64_t pc, uint32_t stack)
{
	uint64_t key = (pc ^ (uint64_t)stack << 40) * UINT64_C(0x9e3779b97f4a7c15);

	return key ^ key >> 29;
}

/* The site of a group, which is added.  NULL without memory. */
static struct block_site *block_site_of(struct block_types *b, const struct block_group *g)
{
	uint64_t *at = u64map_at(&b->by_site, block_site_key(g->pc, g->stack));

	if (at && !*at) {
		if (b->nr_sites == b->room_sites) {
			uint32_t room = b->room_sites ? b->room_sites * 2 : 64;
			void *more = realloc(b->sites, room * sizeof(*b->sites));

			if (!more)
				return NULL;
			b->sites = more;
			b->room_sites = room;
		}
		b->sites[b->nr_sites++] = (struct block_site){ 0 };
		*at = b->nr_sites;
	}
	return at ? &b->sites[*at - 1] : NULL;
}

/* Note the type of a group for other groups of its site. */
static void block_site_note(const struct types *t, struct block_site *s, uint32_t type)
{
	if (!type || block_is_prefix(t, type, s->type))
		return;
	if (!s->type || block_is_prefix(t, s->type, type))
		s->type = type;
	else
		s->has_several = true;
}

/* Blocks of one call stack that differ in size are mostly of one type: with a tail, or arrays. */
static void block_decide_by_site(struct block_types *b)
{
	struct block_site *s;
	uint32_t i;

	for (i = 0; i < b->nr; i++) {
		s = block_site_of(b, &b->groups[i]);
		if (s)
			block_site_note(b->types, s, b->groups[i].type);
	}
	for (i = 0; i < b->nr; i++) {
		s = block_site_of(b, &b->groups[i]);
		if (s && s->type && !s->has_several)
			block_decide_as(b->types, &b->groups[i], &b->lists[i], s->type);
		if (s && !b->groups[i].type) {
			s->silent += b->lists[i].silent;
			s->bytes += b->lists[i].bytes;
		}
	}
}

void block_types_decide(struct block_types *b)
{
	uint32_t i;

	for (i = 0; i < b->nr; i++)
		block_decide(b->types, &b->groups[i], &b->lists[i]);
	block_decide_by_site(b);
	for (i = 0; i < b->nr; i++) {
		block_release_list(&b->lists[i]);
	}
	heap_blocks_release(&b->live);
	b->live = (struct heap_blocks){ 0 };
}

bool block_types_is_bytes(const struct block_types *b, const struct heap_site *site)
{
	const struct block_site *s;
	uint64_t number;

	if (!u64map_get(&b->by_site, block_site_key(site->pc, site->stack), &number))
		return false;
	s = &b->sites[number - 1];
	return s->bytes * 2 > s->silent;
}

uint32_t block_types_groups(const struct block_types *b)
{
	return b->nr;
}

const struct block_group *block_types_group(const struct block_types *b, uint32_t number)
{
	return number && number <= b->nr ? &b->groups[number - 1] : NULL;
}

void block_types_free(struct block_types *b)
{
	uint32_t i;

	if (!b)
		return;
	for (i = 0; i < b->nr; i++)
		block_release_list(&b->lists[i]);
	free(b->lists);
	free(b->groups);
	free(b->sites);
	u64map_release(&b->by_site);
	u64map_release(&b->by_key);
	u64map_release(&b->by_pc);
	heap_blocks_release(&b->live);
	free(b);
}

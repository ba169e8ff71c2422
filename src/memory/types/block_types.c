/* SPDX-License-Identifier: MIT */
/* block_types.c - the types of heap blocks: votes of instructions, by call stack and size. */
#include "memory/types/block_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/u64map.h"
#include "memory/types/alloc_types.h"

#define VOTES_KEPT     512u  /* different votes of a group; later ones are counted only */
#define VOTES_SHORT    16u   /* a list that is searched vote by vote */
#define VOTES_HASHED   1024u /* a power of two, at least twice VOTES_KEPT */
#define VOTES_ALL      256u  /* of one instruction; then one in VOTES_SAMPLE counts */
#define VOTES_SAMPLE   16u
#define VOTES_PCS      4096u /* a power of two */
#define HEADER_MAX     64u   /* bytes before the object that an allocator may use */
#define CONTAINS_DEPTH 16u

/*
 * Accesses of an object of @type, @offset bytes inside it.  The objects are at multiples of their
 * size in the block, plus @distance.
 */
struct block_vote {
	uint32_t type;
	bool is_record;
	uint64_t offset, distance;
	uint64_t first, last; /* lowest and highest place of an access in the block */
	uint32_t size;
	uint64_t count;
};

struct vote_list {
	struct block_vote *votes;
	uint32_t nr;
	uint16_t *by_hash; /* VOTES_HASHED: 1 + index; NULL: the list is short */
	uint64_t others;   /* accesses whose vote was not kept */
	uint64_t silent;   /* accesses by instructions whose type is not known */
};

struct block_types {
	struct types *types;
	struct access_types *accesses;
	struct heap_blocks live;
	struct u64map by_key;
	struct u64map by_pc; /* of an allocating call to 1 + the type that it is for */
	struct block_group *groups;
	struct vote_list *lists;
	uint32_t nr, room;
	struct {
		uint64_t pc;
		uint32_t count;
	} seen[VOTES_PCS];
};

struct block_types *block_types_new(struct types *types, struct access_types *accesses)
{
	struct block_types *b = calloc(1, sizeof(*b));

	if (b) {
		b->types = types;
		b->accesses = accesses;
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
	const struct heap_site *site = heap_blocks_site(&b->live, block->site);
	uint64_t size = block->end - block->start;
	uint64_t *at = u64map_at(&b->by_key, block_group_key(site, size));
	uint32_t given;

	if (!at)
		return -ENOMEM;
	if (*at || b->nr == BLOCK_GROUPS_MAX)
		return (int64_t)*at;
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

const struct block_group *block_types_find(const struct block_types *b,
					   const struct heap_site *site, uint64_t size)
{
	uint64_t number;

	if (!u64map_get(&b->by_key, block_group_key(site, size), &number))
		return NULL;
	return block_types_group(b, (uint32_t)number);
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

static int block_add_vote(struct vote_list *list, const struct block_vote *vote)
{
	struct block_vote *v = block_find_vote(list, vote), *more;

	if (v) {
		v->count++;
		v->first = vote->first < v->first ? vote->first : v->first;
		v->last = vote->last > v->last ? vote->last : v->last;
		return 0;
	}
	if (list->nr == VOTES_KEPT) {
		list->others++;
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
	return 0;
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

/* The vote of an access that counts. */
static int block_vote_of(struct block_types *b, uint64_t address, uint64_t pc, uint32_t bytes,
			 bool is_write)
{
	const struct access_type *found = access_types_find(b->accesses, pc, is_write);
	struct heap_block block;
	struct block_vote vote;
	uint64_t size, at;
	int64_t group;

	if (!heap_blocks_find(&b->live, address, pc, &block))
		return 0;
	group = block_group_of(b, &block);
	if (group <= 0)
		return (int)group;
	size = found && found->is_exact ? types_get(b->types, found->type)->size : 0;
	if (!size) {
		b->lists[group - 1].silent++;
		return 0;
	}
	at = address - block.start;
	vote = (struct block_vote){ .type = found->type,
				    .is_record = found->is_record,
				    .offset = found->offset,
				    .distance = (at + size - found->offset % size) % size,
				    .first = at,
				    .last = at,
				    .size = bytes,
				    .count = 1 };
	return block_add_vote(&b->lists[group - 1], &vote);
}

int block_types_vote(struct block_types *b, const struct mem_record *r)
{
	if (!mem_is_access(r))
		return block_take(b, r);
	if (!block_is_sampled(b, r->pc))
		return 0;
	return block_vote_of(b, r->address, r->pc, r->size, r->kind == MEM_WRITE);
}

int block_types_vote_run(struct block_types *b, const struct mem_access *access, size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	int ret = 0;

	for (; ret == 0 && a < end; a++) {
		if (block_is_sampled(b, a->pc))
			ret = block_vote_of(b, a->address, a->pc, a->size, a->is_write);
	}
	return ret;
}

/* ---- the decision ------------------------------------------------------------ */

/* True if an object of @inner is @at bytes inside @outer. */
static bool block_contains(const struct types *t, uint32_t outer, uint64_t at,
			   const struct block_vote *inner, unsigned depth)
{
	const struct type *type = types_get(t, outer), *wanted = types_get(t, inner->type);
	uint32_t i;

	if (depth > CONTAINS_DEPTH)
		return false;
	if (type->kind == TYPE_ARRAY) {
		const struct type *element = types_get(t, type->element);

		return element->size &&
		       block_contains(t, type->element, at % element->size, inner, depth + 1);
	}
	if (at == 0 && outer == inner->type)
		return true;
	if (!type_is_record(type)) /* numbers and pointers: their size is enough */
		return at == 0 && !inner->is_record && type->size == wanted->size;
	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (at >= m->offset && (at - m->offset < m->size || m->flags & MEMBER_FLEXIBLE) &&
		    block_contains(t, m->type, at - m->offset, inner, depth + 1))
			return true;
	}
	return false;
}

/* A record that ends with an array without a size. */
static bool block_is_open(const struct type *type)
{
	return type->nr_members && type->members[type->nr_members - 1].flags & MEMBER_FLEXIBLE;
}

/*
 * True if @type has the same field at the same offset: records of C that begin with the same
 * members are used as each other.
 */
static bool block_same_field(const struct types *t, uint32_t type, const struct block_vote *vote)
{
	const struct type *of = types_get(t, type), *voted = types_get(t, vote->type);
	uint64_t end;
	uint32_t mine, other;

	if (!type_is_record(of))
		return false;
	mine = types_leaf_at(t, type, vote->offset, vote->size, &end);
	other = types_leaf_at(t, vote->type, vote->offset, vote->size, &end);
	return mine < LEAF_BEYOND && other < LEAF_BEYOND &&
	       of->leaves[mine].size == voted->leaves[other].size &&
	       !strcmp(of->leaves[mine].path, voted->leaves[other].path);
}

/* True if an access at @place fits one object or an array of @type. */
static bool block_explains_at(const struct types *t, uint32_t type, const struct block_vote *vote,
			      uint64_t place)
{
	const struct type *of = types_get(t, type);
	bool is_open = of->nr_members && of->members[of->nr_members - 1].flags & MEMBER_FLEXIBLE;
	uint64_t at = of->size && !is_open ? place % of->size : place, end;

	if (vote->type == type)
		return at == vote->offset ||
		       (vote->is_record &&
			types_leaf_at(t, type, at, vote->size, &end) ==
				types_leaf_at(t, type, vote->offset, vote->size, &end));
	if (at == vote->offset && vote->is_record && block_same_field(t, type, vote))
		return true;
	return at >= vote->offset && block_contains(t, type, at - vote->offset, vote, 0);
}

/* True if @vote fits blocks that are one object or an array of @type, after @header bytes. */
static bool block_explains(const struct types *t, uint32_t type, uint64_t header,
			   const struct block_vote *vote)
{
	return block_explains_at(t, type, vote, vote->first - header) &&
	       block_explains_at(t, type, vote, vote->last - header);
}

/* A type that blocks may have, after a header of the program's allocator. */
struct block_candidate {
	uint32_t type;
	uint64_t header;
	uint64_t support, all; /* votes after the header */
};

static void block_support(const struct types *t, const struct vote_list *list,
			  struct block_candidate *c)
{
	uint32_t i;

	c->support = 0;
	c->all = list->others;
	for (i = 0; i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];

		if (v->first < c->header)
			continue;
		c->all += v->count;
		if (block_explains(t, c->type, c->header, v))
			c->support += v->count;
	}
}

/*
 * True if the first @header bytes of a block belong to the program's allocator: only numbers were
 * accessed there, or nothing is known and the rest is exactly one object of @size bytes.
 */
static bool block_has_header(const struct block_group *g, const struct vote_list *list,
			     uint64_t header, uint64_t size)
{
	bool found = header + size == g->size;
	uint32_t i;

	for (i = 0; i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];

		if (v->first >= header)
			continue;
		if (v->is_record || v->last + v->size > header)
			return false;
		found = true;
	}
	return found;
}

/*
 * True if all objects of the type are at one place after where the first one of an array would be:
 * they are parts of a block that is something else.
 */
static bool block_is_elsewhere(const struct types *t, const struct vote_list *list,
			       const struct block_candidate *c)
{
	uint64_t low = UINT64_MAX, high = 0, size = types_get(t, c->type)->size;
	uint32_t i;

	for (i = 0; i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];

		if (v->type != c->type || v->first < v->offset)
			continue;
		low = v->first - v->offset < low ? v->first - v->offset : low;
		high = v->last - v->offset > high ? v->last - v->offset : high;
	}
	return low == high && low >= c->header + size;
}

/* Of types that explain the same votes, the larger one contains the other. */
static bool block_is_better(const struct types *t, const struct block_candidate *c,
			    const struct block_candidate *best)
{
	if (c->support != best->support)
		return c->support > best->support;
	return types_get(t, c->type)->size > types_get(t, best->type)->size;
}

static uint64_t block_stride(const struct types *t, const struct block_group *g,
			     const struct vote_list *list)
{
	uint64_t size = types_get(t, g->type)->size, room = g->size - g->header;
	uint32_t i;

	if (size >= room || block_is_open(types_get(t, g->type)))
		return room;
	for (i = 0; list && i < list->nr; i++) {
		if (list->votes[i].type == g->type && list->votes[i].last >= g->header + size)
			return size;
	}
	return room % size ? room : size;
}

/* The allocating call names the type. */
static bool block_decide_given(const struct block_types *b, struct block_group *g,
			       const struct vote_list *list)
{
	struct block_candidate c = { .type = g->given };
	const struct type *type = types_get(b->types, g->given);

	if (!g->given || !type->size || type->size > g->size)
		return false;
	block_support(b->types, list, &c);
	g->votes = c.all;
	g->agreeing = c.support;
	g->type = g->given;
	g->stride = g->size / type->size > 1 ? type->size : g->size;
	return true;
}

/*
 * Numbers and pointers are certain only if nearly all accesses to the block are to them, and not
 * only to the first one, which may be a header of the program's allocator.
 */
static bool block_is_certain(const struct types *t, const struct vote_list *list,
			     const struct block_candidate *c, uint64_t size)
{
	bool is_array = size == types_get(t, c->type)->size;
	uint64_t all = c->all;
	uint32_t i;

	if (!type_is_record(types_get(t, c->type))) {
		all += list->silent;
		for (i = 0; i < list->nr; i++)
			is_array = is_array || list->votes[i].last > list->votes[i].first;
		if (!is_array)
			return false;
	}
	return c->type && c->support && (double)c->support >= BLOCK_CERTAIN * (double)all;
}

static void block_decide(const struct block_types *b, struct block_group *g,
			 const struct vote_list *list)
{
	struct block_candidate best = { 0 };
	uint32_t i;

	if (block_decide_given(b, g, list))
		return;
	for (i = 0; i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];
		struct block_candidate c = { .type = v->type };
		const struct type *type = types_get(b->types, v->type);

		if (!type->size || (v->is_record && !type->nr_leaves))
			continue;
		if (v->distance && v->distance <= HEADER_MAX && v->first >= v->distance &&
		    block_has_header(g, list, v->distance, type->size))
			c.header = v->distance;
		if (v->is_record && block_is_elsewhere(b->types, list, &c))
			continue;
		block_support(b->types, list, &c);
		if (block_is_better(b->types, &c, &best))
			best = c;
	}
	g->agreeing = best.support;
	g->votes = best.all;
	if (!block_is_certain(b->types, list, &best, g->size))
		return;
	g->type = best.type;
	g->header = best.header;
	g->stride = block_stride(b->types, g, list);
}

void block_types_decide(struct block_types *b)
{
	uint32_t i;

	for (i = 0; i < b->nr; i++) {
		block_decide(b, &b->groups[i], &b->lists[i]);
		block_release_list(&b->lists[i]);
	}
	heap_blocks_release(&b->live);
	b->live = (struct heap_blocks){ 0 };
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
	u64map_release(&b->by_key);
	u64map_release(&b->by_pc);
	heap_blocks_release(&b->live);
	free(b);
}

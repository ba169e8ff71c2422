/* SPDX-License-Identifier: MIT */
/* block_decide.c - the type that votes of instructions give the blocks of a group. */
#include <string.h>

#include "memory/types/block_votes.h"

#define HEADER_MAX     64u /* bytes before the object that an allocator may use */
#define CONTAINS_DEPTH 16u

/* True if an object of @inner is @at bytes inside @outer. */
static bool block_contains(const struct types *t, uint32_t outer, uint64_t at,
			   const struct block_vote *inner, unsigned depth)
{
	const struct type *type = types_get(t, outer), *wanted = types_get(t, inner->type);
	const struct type_member *tail = type_tail(type);
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

		if (at >= m->offset && (at - m->offset < m->size || m == tail) &&
		    block_contains(t, m->type, at - m->offset, inner, depth + 1))
			return true;
	}
	return false;
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

/* True if an access of @vote fits an object of @type at offset @at. */
static bool block_fits(const struct types *t, uint32_t type, const struct block_vote *vote,
		       uint64_t at)
{
	uint64_t end;

	if (vote->type == type)
		return at == vote->offset ||
		       (vote->is_record &&
			types_leaf_at(t, type, at, vote->size, &end) ==
				types_leaf_at(t, type, vote->offset, vote->size, &end));
	if (at == vote->offset && vote->is_record && block_same_field(t, type, vote))
		return true;
	return at >= vote->offset && block_contains(t, type, at - vote->offset, vote, 0);
}

/*
 * True if an access at @place fits one object or an array of @type.  A struct whose last member has
 * one element may be either: one longer object, or an array.
 */
static bool block_explains_at(const struct types *t, uint32_t type, const struct block_vote *vote,
			      uint64_t place)
{
	const struct type *of = types_get(t, type);
	const struct type_member *tail = type_tail(of);

	if (tail && block_fits(t, type, vote, place))
		return true;
	if (!of->size || (tail && tail->flags & MEMBER_FLEXIBLE))
		return !tail && block_fits(t, type, vote, place);
	return block_fits(t, type, vote, place % of->size);
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
	const struct type *type = types_get(t, g->type);
	const struct type_member *tail = type_tail(type);
	uint64_t room = g->size - g->header;
	uint32_t i;

	if (type->size >= room || (tail && tail->flags & MEMBER_FLEXIBLE))
		return room;
	for (i = 0; list && i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];

		if (v->type == g->type && v->last >= g->header + type->size &&
		    (!tail || v->offset < tail->offset))
			return type->size;
	}
	return tail || room % type->size ? room : type->size;
}

/* The allocating call names the type. */
static bool block_decide_given(const struct types *t, struct block_group *g,
			       const struct vote_list *list)
{
	struct block_candidate c = { .type = g->given };
	const struct type *type = types_get(t, g->given);

	if (!g->given || !type->size || type->size > g->size)
		return false;
	block_support(t, list, &c);
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

void block_decide(const struct types *t, struct block_group *g, const struct vote_list *list)
{
	struct block_candidate best = { 0 };
	uint32_t i;

	if (block_decide_given(t, g, list))
		return;
	for (i = 0; i < list->nr; i++) {
		const struct block_vote *v = &list->votes[i];
		struct block_candidate c = { .type = v->type };
		const struct type *type = types_get(t, v->type);

		if (!type->size || (v->is_record && !type->nr_leaves))
			continue;
		if (v->distance && v->distance <= HEADER_MAX && v->first >= v->distance &&
		    block_has_header(g, list, v->distance, type->size))
			c.header = v->distance;
		if (v->is_record && block_is_elsewhere(t, list, &c))
			continue;
		block_support(t, list, &c);
		if (block_is_better(t, &c, &best))
			best = c;
	}
	g->agreeing = best.support;
	g->votes = best.all;
	if (!block_is_certain(t, list, &best, g->size))
		return;
	g->type = best.type;
	g->header = best.header;
	g->stride = block_stride(t, g, list);
}

bool block_is_prefix(const struct types *t, uint32_t inner, uint32_t outer)
{
	const struct type *less = types_get(t, inner), *more = types_get(t, outer);
	uint32_t i;

	if (inner == outer)
		return true;
	if (!type_is_record(less) || !type_is_record(more) || !less->nr_leaves ||
	    less->nr_leaves > more->nr_leaves)
		return false;
	for (i = 0; i < less->nr_leaves; i++) {
		const struct type_leaf *a = &less->leaves[i], *b = &more->leaves[i];

		if (a->offset != b->offset || a->size != b->size || strcmp(a->path, b->path) != 0)
			return false;
	}
	return true;
}

void block_decide_as(const struct types *t, struct block_group *g, const struct vote_list *list,
		     uint32_t type)
{
	struct block_candidate c = { .type = type };
	const struct type *of = types_get(t, type), *now = types_get(t, g->type);
	struct block_group as = *g;

	if (g->given || !type_is_record(of) || !of->size ||
	    (g->type && now->nr_leaves >= of->nr_leaves))
		return;
	if (!of->has_tail && g->size % of->size)
		return;
	block_support(t, list, &c);
	if ((double)c.support < BLOCK_CERTAIN * (double)c.all ||
	    (g->type && !block_is_prefix(t, g->type, type)))
		return;
	as.type = type;
	as.header = 0;
	as.votes = c.all;
	as.agreeing = c.support;
	as.stride = block_stride(t, &as, list);
	*g = as;
}

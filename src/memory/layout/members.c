/* SPDX-License-Identifier: MIT */
/* members.c - the movable parts of a record, and their offsets in a given order. */
#include "memory/layout/members.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRONT_MIN 2u         /* equal first members that are probably no chance */
#define BYTES_MAX (1u << 16) /* largest type that gets a table of its bytes */

/* ---- pieces -------------------------------------------------------------- */

const char *pieces_obstacle(const struct type *type)
{
	uint64_t end = 0;
	uint32_t i;

	if (!type_is_record(type) || !type->nr_members)
		return "it has no members";
	if (type->kind == TYPE_UNION)
		return "the members of a union have one place";
	if (!type->size)
		return "its size is not known";
	if (!strncmp(type->name, "std::", 5) || !strncmp(type->name, "__gnu_cxx::", 11))
		return "the standard library declares it";
	for (i = 0; i < type->nr_members; i++) {
		const struct type_member *m = &type->members[i];

		if (m->offset + m->size > type->size && !(m->flags & MEMBER_FLEXIBLE))
			return "its debug information is contradictory";
		if (!(m->flags & MEMBER_BITS) && m->size && m->offset < end)
			return "its members lie over each other";
		if (m->offset + m->size > end)
			end = m->offset + m->size;
	}
	return NULL;
}

/* The number of members from @first on that form one piece: the bit-fields of one leaf, else 1. */
static uint32_t run_of(const struct type *type, uint32_t first)
{
	uint32_t n = 1;

	if (!(type->members[first].flags & MEMBER_BITS))
		return 1;
	while (first + n < type->nr_members && type->members[first + n].flags & MEMBER_BITS &&
	       type->members[first + n].first_leaf == type->members[first].first_leaf)
		n++;
	return n;
}

static void fill_piece(const struct type *type, const struct type_member *tail, struct piece *p,
		       uint32_t first, uint32_t nr)
{
	const struct type_member *m = &type->members[first];
	uint64_t end = m->offset + m->size;
	uint32_t i;

	p->first = first;
	p->nr = nr;
	p->offset = m->offset;
	p->align = type->is_packed ? 1 : m->align;
	p->in_front = m->flags & (MEMBER_INHERITED | MEMBER_VPTR);
	p->at_end = m == tail || m->flags & MEMBER_FLEXIBLE;
	p->name = m->name;
	if (m->nr_leaves && (m->flags & MEMBER_BITS || !m->name[0]))
		p->name = type->leaves[m->first_leaf].path;
	for (i = 1; i < nr; i++) {
		m = &type->members[first + i];
		end = m->offset + m->size > end ? m->offset + m->size : end;
		p->align = !type->is_packed && m->align > p->align ? m->align : p->align;
	}
	p->size = end - p->offset;
}

static int map_bytes(struct pieces *p)
{
	uint64_t at;
	uint32_t i;

	if (p->of->size > BYTES_MAX)
		return 0;
	p->of_byte = malloc(p->of->size * sizeof(*p->of_byte));
	if (!p->of_byte)
		return -ENOMEM;
	for (at = 0; at < p->of->size; at++)
		p->of_byte[at] = NO_PIECE;
	for (i = 0; i < p->nr; i++) {
		uint64_t end = p->list[i].offset + p->list[i].size;

		for (at = p->list[i].offset; at < end && at < p->of->size; at++)
			p->of_byte[at] = i;
	}
	return 0;
}

int pieces_init(struct pieces *p, const struct types *types, uint32_t type)
{
	const struct type *of = types_get(types, type);
	const struct type_member *tail = type_tail(of);
	uint32_t first = 0, i, j;

	memset(p, 0, sizeof(*p));
	p->tail = NO_PIECE;
	p->type = type;
	p->of = of;
	p->list = calloc(of->nr_members + 1, sizeof(*p->list));
	p->of_leaf = calloc(of->nr_leaves + 1, sizeof(*p->of_leaf));
	if (!p->list || !p->of_leaf)
		return -ENOMEM;
	while (first < of->nr_members) {
		uint32_t nr = run_of(of, first);

		fill_piece(of, tail, &p->list[p->nr++], first, nr);
		first += nr;
	}
	for (i = 0; i < p->nr; i++) {
		const struct type_member *m = &of->members[p->list[i].first];

		for (j = 0; j < m->nr_leaves && m->first_leaf + j < of->nr_leaves; j++)
			p->of_leaf[m->first_leaf + j] = i;
		if (m == tail)
			p->tail = i;
	}
	return map_bytes(p);
}

void pieces_release(struct pieces *p)
{
	free(p->list);
	free(p->of_leaf);
	free(p->of_byte);
	memset(p, 0, sizeof(*p));
}

uint32_t pieces_at(const struct pieces *p, uint64_t offset)
{
	uint32_t i;

	if (p->tail != NO_PIECE && offset >= p->list[p->tail].offset)
		return p->tail;
	if (offset >= p->of->size)
		return NO_PIECE;
	if (p->of_byte)
		return p->of_byte[offset];
	for (i = 0; i < p->nr; i++) {
		if (offset >= p->list[i].offset && offset - p->list[i].offset < p->list[i].size)
			return i;
	}
	return NO_PIECE;
}

bool pieces_is_cold(const struct pieces *p, uint32_t number)
{
	uint64_t most = 0;
	uint32_t i;

	for (i = 0; i < p->nr; i++)
		most = p->list[i].visits > most ? p->list[i].visits : most;
	return p->list[number].visits * 10 < most;
}

uint32_t pieces_fix_front(struct pieces *p, const struct pieces *with)
{
	const struct type *of = p->of, *other = with->of;
	uint32_t nr = 0, i;

	if (p->nr && !of->is_cxx && of->members[0].type == with->type && !p->list[0].offset) {
		p->list[0].in_front = true;
		return 1;
	}
	while (nr < of->nr_members && nr < other->nr_members) {
		const struct type_member *a = &of->members[nr], *b = &other->members[nr];

		if (a->offset != b->offset || a->size != b->size || !a->name[0] ||
		    strcmp(a->text, b->text) != 0)
			break;
		nr++;
	}
	if (nr < FRONT_MIN || of->is_cxx || other->is_cxx)
		return 0;
	for (i = 0; i < p->nr && p->list[i].first < nr; i++)
		p->list[i].in_front = true;
	return i;
}

/* ---- shapes -------------------------------------------------------------- */

static struct shape *shape_alloc(const struct pieces *p)
{
	struct shape *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->pieces = p;
	s->order = calloc(p->nr + 1, sizeof(*s->order));
	s->offset = calloc(p->nr + 1, sizeof(*s->offset));
	s->size = calloc(p->nr + 1, sizeof(*s->size));
	s->line_start = calloc(p->nr + 1, sizeof(*s->line_start));
	if (s->order && s->offset && s->size && s->line_start)
		return s;
	shape_free(s);
	return NULL;
}

struct shape *shape_new(const struct pieces *p, const char *name)
{
	struct shape *s = shape_alloc(p);
	uint32_t i;

	if (!s)
		return NULL;
	snprintf(s->name, sizeof(s->name), "%s", name);
	for (i = 0; i < p->nr; i++) {
		s->order[i] = i;
		s->offset[i] = p->list[i].offset;
		s->size[i] = p->list[i].size;
	}
	s->bytes = p->of->size;
	s->align = p->of->align ? p->of->align : 1;
	return s;
}

struct shape *shape_copy(const struct shape *from, const char *name)
{
	struct shape *s = shape_alloc(from->pieces);
	uint32_t nr = from->pieces->nr;

	if (!s)
		return NULL;
	memcpy(s->order, from->order, nr * sizeof(*s->order));
	memcpy(s->offset, from->offset, nr * sizeof(*s->offset));
	memcpy(s->size, from->size, nr * sizeof(*s->size));
	memcpy(s->line_start, from->line_start, nr * sizeof(*s->line_start));
	s->nr_cold = from->nr_cold;
	s->by_pointer = from->by_pointer;
	s->pointer = from->pointer;
	s->bytes = from->bytes;
	s->cold_bytes = from->cold_bytes;
	s->align = from->align;
	s->cold_align = from->cold_align;
	s->raised = from->raised;
	snprintf(s->name, sizeof(s->name), "%s", name);
	return s;
}

static uint64_t members_round_up(uint64_t value, uint64_t to)
{
	return to > 1 ? (value + to - 1) / to * to : value;
}

/* The start of bit-fields that follow @at.  As in the ABI, they share a unit if they fit. */
static uint64_t place_bits(const struct type *type, const struct piece *p, uint64_t at)
{
	const struct type_member *m = &type->members[p->first];
	uint64_t unit = (uint64_t)p->align * 8, bit = at * 8;

	if (type->is_packed || bit / unit == (bit + m->bit_size - 1) / unit)
		return at;
	return members_round_up(at, p->align);
}

static uint64_t place_piece(const struct shape *s, uint32_t number, uint64_t at, uint32_t line)
{
	const struct type *type = s->pieces->of;
	const struct piece *p = &s->pieces->list[number];

	if (s->line_start[number])
		return members_round_up(at, line);
	if (type->members[p->first].flags & MEMBER_BITS)
		return place_bits(type, p, at);
	return members_round_up(at, p->align);
}

static uint32_t members_max32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

void shape_settle(struct shape *s, uint32_t align, uint32_t line)
{
	const struct pieces *p = s->pieces;
	uint32_t hot = p->nr - s->nr_cold, i;
	uint64_t at = 0;

	s->align = 1;
	align = members_max32(align, p->of->align); /* the type keeps its own alignment */
	for (i = 0; i < hot; i++) {
		uint32_t n = s->order[i];

		s->offset[n] = place_piece(s, n, at, line);
		at = s->offset[n] + s->size[n];
		s->align = members_max32(s->align, p->list[n].align);
		if (s->line_start[n])
			s->align = members_max32(s->align, line);
	}
	if (s->nr_cold && s->by_pointer) {
		s->pointer = members_round_up(at, 8);
		at = s->pointer + 8;
		s->align = members_max32(s->align, 8);
	}
	s->raised = align > s->align;
	s->align = members_max32(s->align, align);
	s->bytes = members_round_up(at, s->align);
	s->cold_bytes = 0;
	s->cold_align = 1;
	for (; i < p->nr; i++) {
		uint32_t n = s->order[i];

		s->offset[n] = place_piece(s, n, s->cold_bytes, line);
		s->cold_bytes = s->offset[n] + s->size[n];
		s->cold_align = members_max32(s->cold_align, p->list[n].align);
	}
	s->cold_bytes = members_round_up(s->cold_bytes, s->cold_align);
}

bool shape_same(const struct shape *a, const struct shape *b)
{
	uint32_t nr = a->pieces->nr;

	return a->pieces == b->pieces && a->bytes == b->bytes && a->align == b->align &&
	       a->nr_cold == b->nr_cold && a->by_pointer == b->by_pointer &&
	       a->cold_bytes == b->cold_bytes &&
	       !memcmp(a->offset, b->offset, nr * sizeof(*a->offset)) &&
	       !memcmp(a->size, b->size, nr * sizeof(*a->size));
}

bool shape_moves(const struct shape *s)
{
	return s->bytes != s->pieces->of->size || s->align > s->pieces->of->align || s->nr_cold;
}

void shape_free(struct shape *s)
{
	if (!s)
		return;
	free(s->order);
	free(s->offset);
	free(s->size);
	free(s->line_start);
	free(s);
}

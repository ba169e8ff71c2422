/* SPDX-License-Identifier: MIT */
/* guard_scopes.c - the blocks of a coroutine's variables, from DWARF and from gcc's names. */
#include "symbols/guard_scopes.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define SCOPE_DEPTH_MAX 32
#define SCOPE_DIES_MAX  20000
#define GCC_FIRST_AWAIT 4

/* The digits before @end, and the underscore before them. */
static bool guard_name_number(const char *text, size_t *end, unsigned *out)
{
	size_t at = *end, digits = 0, i;

	while (at && text[at - 1] >= '0' && text[at - 1] <= '9') {
		at--;
		digits++;
	}
	if (!digits || digits > 6 || !at || text[at - 1] != '_')
		return false;
	for (*out = 0, i = at; i < *end; i++)
		*out = *out * 10 + (unsigned)(text[i] - '0');
	*end = at - 1;
	return true;
}

size_t guard_name_split(const char *member, unsigned *depth, unsigned *serial)
{
	size_t end = strlen(member);

	return guard_name_number(member, &end, serial) && guard_name_number(member, &end, depth)
		       ? end
		       : 0;
}

/* ---- DWARF ---------------------------------------------------------------------------- */

struct scope_search {
	const char *name;
	size_t len;
	uint32_t offset;
	uint64_t bias;
	unsigned left;
	struct guard_scope *out;
};

/* False: its place is another one.  The last addition of the location is the offset. */
static bool scope_is_place(const struct scope_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr, i;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &ops, &nr) != 0)
		return true;
	for (i = nr; i; i--) {
		if (ops[i - 1].atom == DW_OP_plus_uconst)
			return ops[i - 1].number == s->offset;
	}
	return true;
}

static void scope_set_block(const struct scope_search *s, Dwarf_Die *block)
{
	struct guard_scope *out = s->out;
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while (block && out->nr_ranges < SCOPE_RANGES_MAX &&
	       (at = dwarf_ranges(block, at, &base, &start, &end)) > 0) {
		out->ranges[out->nr_ranges].start = start + s->bias;
		out->ranges[out->nr_ranges++].end = end + s->bias;
	}
}

static bool scope_search_in(struct scope_search *s, Dwarf_Die *parent, Dwarf_Die *block,
			    unsigned depth)
{
	Dwarf_Die die;

	if (depth > SCOPE_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name = tag == DW_TAG_variable ? dwarf_diename(&die) : NULL;
		int line = 0;

		if (!s->left--)
			return false;
		if (name && strlen(name) == s->len && !memcmp(name, s->name, s->len) &&
		    scope_is_place(s, &die) && dwarf_decl_line(&die, &line) == 0 && line > 0) {
			s->out->is_known = true;
			s->out->line = (uint32_t)line;
			scope_set_block(s, block);
			return true;
		}
		if (tag == DW_TAG_lexical_block && scope_search_in(s, &die, &die, depth + 1))
			return true;
	} while (s->left && dwarf_siblingof(&die, &die) == 0);
	return false;
}

void guard_scope_read(struct guard_scope *out, Dwarf_Die *function, const char *name,
		      uint32_t offset, uint64_t bias)
{
	struct scope_search s = {
		.name = name,
		.len = strlen(name),
		.offset = offset,
		.bias = bias,
		.left = SCOPE_DIES_MAX,
		.out = out,
	};
	size_t len;

	*out = (struct guard_scope){ 0 };
	len = guard_name_split(name, &out->depth, &out->serial);
	if (len)
		s.len = len;
	else
		out->depth = out->serial = 0;
	scope_search_in(&s, function, NULL, 0);
}

/* ---- alive or not ----------------------------------------------------------------------- */

int64_t described_point_awaiter(const struct coro_point *point, bool is_gcc)
{
	return is_gcc && point && point->index >= GCC_FIRST_AWAIT
		       ? (int64_t)(point->index - GCC_FIRST_AWAIT) / 2
		       : -1;
}

static enum guard_life life_by_ranges(const struct guard_scope *scope, uint64_t pc)
{
	unsigned i;

	if (!scope->nr_ranges || !pc)
		return GUARD_UNSURE;
	for (i = 0; i < scope->nr_ranges; i++) {
		if (pc >= scope->ranges[i].start && pc < scope->ranges[i].end)
			return GUARD_ALIVE;
	}
	return GUARD_DEAD;
}

static const struct frame_block *life_awaiter_block(const struct described_frame *frame,
						    int64_t awaiter)
{
	size_t i;

	for (i = 0; awaiter >= 0 && i < frame->nr_blocks; i++) {
		if (frame->blocks[i].awaiter == awaiter)
			return &frame->blocks[i];
	}
	return NULL;
}

/*
 * Blocks are numbered in the order in which they begin.  A block contains a later one if no block
 * of its own depth or less begins between them.  Blocks without variables are not known.
 */
static enum guard_life life_by_blocks(const struct described_frame *frame,
				      const struct guard_scope *scope, int64_t awaiter)
{
	const struct frame_block *at = life_awaiter_block(frame, awaiter);
	unsigned known = 0, last = scope->serial, next;
	size_t i;

	if (!scope->serial || !at)
		return GUARD_UNSURE;
	if (scope->serial == at->serial)
		return GUARD_ALIVE;
	if (scope->serial > at->serial || scope->depth >= at->depth)
		return GUARD_DEAD;
	for (i = 0; i < frame->nr_blocks; i++) {
		const struct frame_block *b = &frame->blocks[i];

		if (b->serial > scope->serial && b->serial < at->serial && b->depth <= scope->depth)
			return GUARD_DEAD;
	}
	/* The body of the function contains everything after it. */
	if (scope->depth == 1)
		return GUARD_ALIVE;
	do {
		next = UINT32_MAX;
		for (i = 0; i < frame->nr_blocks; i++) {
			unsigned serial = frame->blocks[i].serial;

			if (serial > last && serial < next)
				next = serial;
		}
		known += next < at->serial;
		last = next;
	} while (next < at->serial);
	return known == at->serial - scope->serial - 1 ? GUARD_ALIVE : GUARD_UNSURE;
}

enum guard_life described_member_life(const struct described_frame *frame,
				      const struct described_member *member,
				      const struct coro_point *point, bool is_gcc)
{
	enum guard_life by_blocks;

	if (!member->scope.is_known || !point || !point->file || point->is_initial)
		return GUARD_UNSURE;
	/* On the same line it may be what the co_await initializes. */
	if (member->scope.line >= point->line)
		return GUARD_DEAD;
	by_blocks = life_by_blocks(frame, &member->scope, described_point_awaiter(point, is_gcc));
	/* Optimized code of a block may be elsewhere: the numbers of gcc's blocks are better. */
	return by_blocks != GUARD_UNSURE ? by_blocks : life_by_ranges(&member->scope, point->addr);
}

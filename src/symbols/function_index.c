/* SPDX-License-Identifier: MIT */
/* function_index.c - the functions of a compilation unit by address. */
#include "symbols/function_index.h"

#include <dwarf.h>
#include <stdlib.h>

/* More than any real program has; a corrupt file may claim any number. */
#define FUNCTION_DIES_MAX   (1u << 22)
#define FUNCTION_PIECES_MAX (1u << 22)
#define FUNCTION_DEPTH_MAX  512u

bool function_tag_is_function(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

bool function_tag_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

bool function_tag_is_scope(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type;
}

/* ---- reading a unit ------------------------------------------------------------ */

struct function_walk {
	struct function_list *list;
	unsigned left; /* DIEs that may still be visited */
	const char *last;
	uint32_t order;
	bool no_memory;
};

static void functions_add_piece(struct function_walk *w, uint64_t start, uint64_t end,
				const Dwarf_Die *die)
{
	struct function_list *list = w->list;

	if (start >= end || list->nr == FUNCTION_PIECES_MAX)
		return;
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 64;
		struct function_piece *more = reallocarray(list->pieces, room, sizeof(*more));

		if (!more) {
			w->no_memory = true;
			return;
		}
		list->pieces = more;
		list->room = room;
	}
	list->pieces[list->nr++] = (struct function_piece){
		.start = start, .end = end, .order = w->order, .die = *die
	};
}

static void functions_add_die(struct function_walk *w, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	w->order++;
	while (!w->no_memory && (at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		functions_add_piece(w, start, end, die);
}

/* DIEs are stored one after the other: a lower address is a loop in a corrupt file. */
static void functions_walk(struct function_walk *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die, next;

	if (depth > FUNCTION_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	for (; w->left && !w->no_memory; die = next) {
		int tag = dwarf_tag(&die);

		if ((const char *)die.addr <= w->last)
			return;
		w->last = die.addr;
		w->left--;
		if (function_tag_is_function(tag) || function_tag_is_block(tag))
			functions_add_die(w, &die);
		else if (function_tag_is_scope(tag))
			functions_walk(w, &die, depth + 1);
		if (dwarf_siblingof(&die, &next) != 0)
			return;
	}
}

static int pieces_by_start(const void *a, const void *b)
{
	const struct function_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static bool functions_read(struct function_list *list, Dwarf_Die *unit)
{
	struct function_walk w = { .list = list, .left = FUNCTION_DIES_MAX };
	uint64_t reach = 0;
	size_t i;

	functions_walk(&w, unit, 0);
	if (list->nr)
		qsort(list->pieces, list->nr, sizeof(*list->pieces), pieces_by_start);
	for (i = 0; i < list->nr; i++) {
		reach = list->pieces[i].end > reach ? list->pieces[i].end : reach;
		list->pieces[i].reach = reach;
	}
	return !w.no_memory;
}

/* ---- searching ------------------------------------------------------------------ */

static struct function_list *functions_new_list(struct function_index *x)
{
	if (x->nr == x->room) {
		size_t room = x->room ? x->room * 2 : 16;
		struct function_list *more = reallocarray(x->lists, room, sizeof(*more));

		if (!more)
			return NULL;
		x->lists = more;
		x->room = room;
	}
	x->lists[x->nr] = (struct function_list){ 0 };
	return &x->lists[x->nr++];
}

static const struct function_list *functions_of_unit(struct function_index *x, Dwarf_Die *unit)
{
	uint64_t *known = u64map_at(&x->by_unit, (uint64_t)(uintptr_t)unit->addr);
	struct function_list *list;

	if (!known)
		return NULL;
	if (*known)
		return &x->lists[*known - 1];
	list = functions_new_list(x);
	if (!list)
		return NULL;
	if (functions_read(list, unit)) {
		*known = x->nr;
		return list;
	}
	free(list->pieces);
	x->nr--;
	return NULL;
}

bool function_index_find(struct function_index *x, Dwarf_Die *unit, uint64_t addr, Dwarf_Die *out)
{
	const struct function_list *list = functions_of_unit(x, unit);
	const struct function_piece *found = NULL;
	size_t low = 0, high = list ? list->nr : 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list->pieces[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low > 0 && list->pieces[low - 1].reach > addr; low--) {
		const struct function_piece *p = &list->pieces[low - 1];

		if (addr < p->end && (!found || p->order < found->order))
			found = p;
	}
	if (found)
		*out = found->die;
	return found != NULL;
}

void function_index_release(struct function_index *x)
{
	size_t i;

	for (i = 0; i < x->nr; i++)
		free(x->lists[i].pieces);
	free(x->lists);
	u64map_release(&x->by_unit);
	*x = (struct function_index){ 0 };
}

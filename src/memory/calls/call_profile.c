/* SPDX-License-Identifier: MIT */
/* call_profile.c - misses by function, source line and call, from a call_tree. */
#include "memory/calls/call_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/path.h"

#define CALL_ONE_IN256 256u
#define CALL_NONE      UINT32_MAX

/* ---- functions and places --------------------------------------------------- */

/* Make room for one more element of a list. */
static bool profile_has_room(struct call_profile *p, void *list, uint32_t nr, uint32_t *room,
			     size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 64;
	void *more;

	if (nr < *room)
		return true;
	more = reallocarray(*(void **)list, wanted, size);
	if (more) {
		*(void **)list = more;
		*room = wanted;
	}
	p->has_failed |= !more;
	return more != NULL;
}

/* The number that the text stands for, to be set if it is 0; NULL: no memory. */
static uint64_t *profile_number(struct call_profile *p, const char *text)
{
	int64_t known = strtab_intern(&p->texts, text);
	uint64_t *at = known >= 0 ? u64map_at(&p->by_text, (uint64_t)known) : NULL;

	p->has_failed |= !at;
	return at;
}

static const char *profile_keep(struct call_profile *p, const char *text)
{
	int64_t known = strtab_intern(&p->texts, text);

	p->has_failed |= known < 0;
	return known >= 0 ? strtab_text(&p->texts, (size_t)known) : "";
}

static uint32_t profile_function(struct call_profile *p, const struct symbol *s)
{
	char key[1800], name[300];
	uint64_t *at;

	if (s->function)
		snprintf(name, sizeof(name), "%.290s", s->function);
	else if (s->module)
		snprintf(name, sizeof(name), "(%.280s)", path_base(s->module));
	else
		snprintf(name, sizeof(name), "(unknown)");
	snprintf(key, sizeof(key), "f %.290s\n%.700s\n%.700s", name, s->file ? s->file : "",
		 s->module ? s->module : "");
	at = profile_number(p, key);
	if (!at)
		return 0;
	if (!*at) {
		if (!profile_has_room(p, &p->functions, p->nr_functions, &p->room_functions,
				      sizeof(*p->functions)))
			return 0;
		p->functions[p->nr_functions++] = (struct call_function){
			.name = profile_keep(p, name), .file = s->file, .module = s->module
		};
		*at = p->nr_functions;
	}
	return (uint32_t)*at - 1;
}

static uint32_t profile_place_of(struct call_profile *p, const struct symbol *s)
{
	uint32_t function = profile_function(p, s);
	struct call_function *f;
	char key[64];
	uint64_t *at;

	/* The file is that of the function. */
	snprintf(key, sizeof(key), "p %u %u", function, s->line);
	at = profile_number(p, key);
	if (!at || p->has_failed)
		return CALL_NONE;
	if (!*at) {
		if (!profile_has_room(p, &p->places, p->nr_places, &p->room_places,
				      sizeof(*p->places)))
			return CALL_NONE;
		p->places[p->nr_places++] = (struct call_place){ .function = function,
								 .file = s->file,
								 .line = s->line };
		*at = p->nr_places;
		f = &p->functions[function];
		if (s->line && (!f->line || s->line < f->line))
			f->line = s->line;
	}
	return (uint32_t)*at - 1;
}

/* The place of the call or the callback before @address; CALL_NONE: unknown. */
static uint32_t profile_place(struct call_profile *p, uint64_t address)
{
	struct symbol s = { 0 };
	uint64_t *at;

	at = u64map_at(&p->by_address, address);
	if (!at) {
		p->has_failed = true;
		return CALL_NONE;
	}
	if (!*at) {
		if (address)
			symbols_find(p->symbols, 0, address - 1, &s);
		*at = (uint64_t)profile_place_of(p, &s) + 1;
	}
	return (uint32_t)(*at - 1);
}

/* ---- frames ------------------------------------------------------------------ */

static uint64_t profile_mixed(uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t mixed = a * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 29 ^ b) * UINT64_C(0xbf58476d1ce4e5b9);
	mixed = (mixed ^ mixed >> 32 ^ c) * UINT64_C(0x94d049bb133111eb);
	return mixed ^ mixed >> 31;
}

/* The frame of a call of @function from @place in @parent. */
static uint32_t profile_frame(struct call_profile *p, uint32_t parent, uint32_t place,
			      uint32_t function)
{
	uint64_t key = profile_mixed(parent, place, function), *at;

	/* A key that another frame has: the next one. */
	while ((at = u64map_at(&p->by_call, key)) && *at) {
		const struct profile_frame *f = &p->frames[*at - 1];

		if (f->parent == parent && f->place == place && f->function == function)
			return (uint32_t)*at - 1;
		key++;
	}
	if (!at ||
	    !profile_has_room(p, &p->frames, p->nr_frames, &p->room_frames, sizeof(*p->frames))) {
		p->has_failed = true;
		return 0;
	}
	p->frames[p->nr_frames++] = (struct profile_frame){ .parent = parent,
							    .function = function,
							    .place = place };
	*at = p->nr_frames;
	return p->nr_frames - 1;
}

/*
 * The frame of the code at @place below @frame: the frame itself, or that of a function inlined
 * into it or called by it without a record.
 */
static uint32_t profile_inner(struct call_profile *p, uint32_t frame, uint32_t place)
{
	uint32_t function = place == CALL_NONE ? 0 : p->places[place].function;

	if (!function || p->frames[frame].function == function)
		return frame;
	return profile_frame(p, frame, CALL_NONE, function);
}

/*
 * The frame that calls @to from @from, below @frame.  A compiler may inline the first part of a
 * function and call the rest: both have the name of the function, which is one frame then.
 */
static uint32_t profile_caller(struct call_profile *p, uint32_t frame, uint32_t from, uint32_t to)
{
	if (from != CALL_NONE && to != CALL_NONE &&
	    p->places[from].function == p->places[to].function)
		return frame;
	return profile_inner(p, frame, from);
}

/* The frames of all nodes: @frames has a number for each. */
static void profile_add_nodes(struct call_profile *p, const struct call_tree *t, uint32_t *frames)
{
	uint32_t i;

	for (i = 1; i < t->nr_nodes && !p->has_failed; i++) {
		const struct call_node *n = &t->nodes[i];
		uint32_t to = profile_place(p, n->function), from = CALL_NONE;
		uint32_t parent = frames[n->parent];

		/* What calls the outermost function, of the C library, is of no interest. */
		if (n->parent && n->call_site) {
			from = profile_place(p, n->call_site);
			parent = profile_caller(p, parent, from, to);
		}
		if (to == CALL_NONE || p->has_failed)
			return;
		frames[i] = profile_frame(p, parent, from, p->places[to].function);
		p->frames[frames[i]].calls += n->calls;
		p->functions[p->places[to].function].calls += n->calls;
	}
}

/* Whole accesses; what is rounded down is added to the next counts. */
static void profile_round(struct call_profile *p, const struct call_counts *c,
			  struct call_counts *out)
{
	uint32_t i;

	for (i = 0; i < CALL_COUNTS; i++) {
		uint64_t sum = c->n[i] + p->carry.n[i];

		out->n[i] = sum / CALL_ONE_IN256;
		p->carry.n[i] = sum % CALL_ONE_IN256;
	}
}

static void profile_add_slots(struct call_profile *p, const struct call_tree *t,
			      const uint32_t *frames)
{
	struct call_counts counts;
	uint32_t i, place, frame;

	for (i = 0; i < t->nr_slots && !p->has_failed; i++) {
		const struct call_slot *slot = &t->slots[i];

		place = profile_place(p, slot->pc);
		if (place == CALL_NONE)
			return;
		frame = profile_inner(p, frames[slot->node], place);
		profile_round(p, &slot->counts, &counts);
		call_counts_add(&p->places[place].self, &counts);
		call_counts_add(&p->functions[p->places[place].function].self, &counts);
		call_counts_add(&p->frames[frame].self, &counts);
		call_counts_add(&p->frames[frame].whole, &counts);
	}
}

/* ---- sums ---------------------------------------------------------------------- */

/* True if none of the functions that led to @frame is the same. */
static bool profile_is_outermost(const struct call_profile *p, uint32_t frame)
{
	uint32_t function = p->frames[frame].function;

	while (frame) {
		frame = p->frames[frame].parent;
		if (p->frames[frame].function == function)
			return false;
	}
	return true;
}

static struct call_arc *profile_arc(struct call_profile *p, const struct profile_frame *f)
{
	uint32_t caller = p->frames[f->parent].function;
	uint64_t key = profile_mixed(caller, f->place, f->function), *at;

	while ((at = u64map_at(&p->by_call, key)) && *at) {
		struct call_arc *a = &p->arcs[*at - 1];

		if (a->caller == caller && a->place == f->place && a->callee == f->function)
			return a;
		key++;
	}
	if (!at || !profile_has_room(p, &p->arcs, p->nr_arcs, &p->room_arcs, sizeof(*p->arcs))) {
		p->has_failed = true;
		return NULL;
	}
	p->arcs[p->nr_arcs++] = (struct call_arc){ .caller = caller,
						   .callee = f->function,
						   .place = f->place };
	*at = p->nr_arcs;
	return &p->arcs[p->nr_arcs - 1];
}

static void profile_sum_up(struct call_profile *p)
{
	struct call_arc *arc;
	uint32_t i;

	/* A parent is in front of its children. */
	for (i = p->nr_frames - 1; i; i--)
		call_counts_add(&p->frames[p->frames[i].parent].whole, &p->frames[i].whole);
	p->functions[0].whole = p->frames[0].whole;
	u64map_release(&p->by_call);
	memset(&p->by_call, 0, sizeof(p->by_call));
	for (i = 1; i < p->nr_frames; i++) {
		const struct profile_frame *f = &p->frames[i];

		arc = profile_arc(p, f);
		if (!arc)
			return;
		arc->calls += f->calls;
		if (!profile_is_outermost(p, i))
			continue;
		call_counts_add(&arc->whole, &f->whole);
		call_counts_add(&p->functions[f->function].whole, &f->whole);
	}
}

struct call_profile *call_profile_new(const struct call_tree *tree, struct symbols *symbols)
{
	struct call_profile *p = calloc(1, sizeof(*p));
	uint32_t *frames = calloc(tree->nr_nodes, sizeof(*frames));

	if (p && frames) {
		p->nr_levels = tree->nr_levels;
		p->has_stacks = tree->has_stacks;
		p->merged_calls = tree->merged_calls;
		p->symbols = symbols;
		profile_function(p, &(struct symbol){ .function = "(program)" });
		profile_frame(p, 0, CALL_NONE, 0);
		profile_add_nodes(p, tree, frames);
		profile_add_slots(p, tree, frames);
		if (!p->has_failed)
			profile_sum_up(p);
	}
	free(frames);
	if (!p || !frames || p->has_failed) {
		call_profile_free(p);
		return NULL;
	}
	return p;
}

void call_profile_free(struct call_profile *p)
{
	if (!p)
		return;
	free(p->functions);
	free(p->places);
	free(p->arcs);
	free(p->frames);
	strtab_release(&p->texts);
	u64map_release(&p->by_text);
	u64map_release(&p->by_address);
	u64map_release(&p->by_call);
	free(p);
}

/* ---- results --------------------------------------------------------------------- */

const struct call_counts *call_profile_total(const struct call_profile *p)
{
	return &p->functions[0].whole;
}

uint64_t call_profile_cost(const struct call_profile *p, const struct call_counts *c)
{
	return call_counts_cost(c, p->nr_levels);
}

struct profile_order {
	const struct call_profile *p;
	bool by_whole;
};

static const struct call_counts *profile_key(const struct profile_order *o, uint32_t function)
{
	const struct call_function *f = &o->p->functions[function];

	return o->by_whole ? &f->whole : &f->self;
}

static int profile_compare(const void *a, const void *b, void *order)
{
	const struct profile_order *o = order;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct call_counts *cx = profile_key(o, x), *cy = profile_key(o, y);
	uint64_t kx = call_profile_cost(o->p, cx), ky = call_profile_cost(o->p, cy);

	if (kx == ky) {
		kx = cx->n[CALL_READS] + cx->n[CALL_WRITES];
		ky = cy->n[CALL_READS] + cy->n[CALL_WRITES];
	}
	return kx != ky ? (kx < ky ? 1 : -1) : (x > y) - (x < y);
}

uint32_t *call_profile_sorted(const struct call_profile *p, bool by_whole, uint32_t *nr)
{
	uint32_t *list = calloc(p->nr_functions, sizeof(*list)), i;
	struct profile_order order = { p, by_whole };

	*nr = 0;
	for (i = 1; list && i < p->nr_functions; i++) {
		const struct call_counts *c = profile_key(&order, i);

		if (c->n[CALL_READS] + c->n[CALL_WRITES])
			list[(*nr)++] = i;
	}
	if (list)
		qsort_r(list, *nr, sizeof(*list), profile_compare, &order);
	else
		memory_shortage_note();
	return list;
}

/* SPDX-License-Identifier: MIT */
/*
 * call_profile.h - misses by function, source line and call, from a call_tree.
 *
 *	struct call_profile *p = call_profile_new(tree, symbols);
 *
 *	for (i = 0; i < p->nr_functions; i++)
 *		p->functions[i].self, .whole       without and with the functions it called
 *
 * An inlined function is a function of its own, called by the function around it; so is one that
 * is not instrumented and calls one that is (qsort(), say).  How often they were called is unknown.
 *
 * The counts of a function with the functions that it called contain each access once, however
 * often the function is in the stack; so do the counts of a call, which belong to the outermost
 * call of the function.  Hence the sum of all calls of a function is what the function has.
 */
#ifndef MEMORY_CALLS_CALL_PROFILE_H
#define MEMORY_CALLS_CALL_PROFILE_H

#include "base/strtab.h"
#include "memory/calls/call_tree.h"
#include "symbols/symbols.h"

/* A source line, or code without one. */
struct call_place {
	uint32_t function;
	const char *file; /* NULL: unknown */
	uint32_t line;
	struct call_counts self;
};

struct call_function {
	const char *name;   /* "(program)": the root; "(libz.so.1)": code without a name */
	const char *file;   /* NULL: unknown */
	const char *module; /* NULL: unknown */
	uint32_t line;      /* the smallest that is known; 0: none */
	uint64_t calls;     /* 0: unknown */
	struct call_counts self, whole;
};

/* Calls of one function from one source line of another. */
struct call_arc {
	uint32_t caller, callee;
	uint32_t place; /* in places; UINT32_MAX: unknown */
	uint64_t calls; /* 0: unknown */
	struct call_counts whole;
};

/* A function with the functions that called it; the first is the root. */
struct profile_frame {
	uint32_t parent; /* in front of it */
	uint32_t function;
	uint32_t place; /* of the call; UINT32_MAX: unknown */
	uint64_t calls;
	struct call_counts self, whole;
};

struct call_profile {
	uint32_t nr_levels;
	bool has_stacks;
	uint64_t merged_calls;           /* as in the tree */
	struct call_function *functions; /* the first is the root */
	uint32_t nr_functions, room_functions;
	struct call_place *places;
	uint32_t nr_places, room_places;
	struct call_arc *arcs;
	uint32_t nr_arcs, room_arcs;
	struct profile_frame *frames;
	uint32_t nr_frames, room_frames;

	/* Private. */
	struct symbols *symbols;
	struct strtab texts;
	struct u64map by_text;    /* function or place: 1 + its number */
	struct u64map by_address; /* code address to 1 + its place */
	struct u64map by_call;    /* hash of a frame or an arc to 1 + the newest one */
	struct call_counts carry; /* parts of accesses that were rounded down */
	bool has_failed;          /* no memory */
};

/* The profile refers to strings of @symbols.  NULL: no memory. */
struct call_profile *call_profile_new(const struct call_tree *tree, struct symbols *symbols);

/* Counts of all accesses. */
const struct call_counts *call_profile_total(const struct call_profile *p);

uint64_t call_profile_cost(const struct call_profile *p, const struct call_counts *c);

/*
 * Numbers of functions, sorted by the cost of what they do themselves, or with the functions they
 * called; without the root and without functions that have no access.  *@nr: how many.  To be
 * freed; NULL: no memory.
 */
uint32_t *call_profile_sorted(const struct call_profile *p, bool by_whole, uint32_t *nr);

/* Accepts NULL. */
void call_profile_free(struct call_profile *p);

#endif

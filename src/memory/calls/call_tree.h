/* SPDX-License-Identifier: MIT */
/*
 * call_tree.h - the accesses of a trace and their misses, by code address and call stack.
 *
 *	struct call_tree *t = call_tree_new(sim_config_of(sim));
 *
 *	call_tree_enter(t, thread, function, call_site);      a function is called
 *	call_tree_access(t, rec, &out);                       each simulated access
 *	call_tree_leave(t, thread, 1);                        the function returns
 *
 * A trace without call stacks has accesses only; all of them belong to the root then.  Threads
 * share one tree.  call_profile.h turns the tree into functions, source lines and calls.
 *
 * Memory use is bounded: functions called deeper than CALL_DEPTH_MAX, or when there are
 * CALL_NODES_MAX nodes, are counted with the node of their caller.
 */
#ifndef MEMORY_CALLS_CALL_TREE_H
#define MEMORY_CALLS_CALL_TREE_H

#include "base/u64map.h"
#include "memory/calls/call_counts.h"
#include "memory/format/mem_record.h"

#define CALL_DEPTH_MAX 512u
#define CALL_NODES_MAX (1u << 18)
#define CALL_SLOTS_MAX (1u << 20) /* pairs of node and code address */

/* A function with the calls that led to it. */
struct call_node {
	uint32_t parent; /* the root is its own parent */
	uint32_t depth;
	uint64_t function;  /* a code address in it; 0: the root */
	uint64_t call_site; /* where the parent called it: the address after the call; 0: unknown */
	uint64_t calls;
};

/* The accesses of one instruction, called that way. */
struct call_slot {
	uint32_t node;
	uint64_t pc; /* the address after the access; 0: unknown */
	struct call_counts counts;
};

struct call_tree {
	struct call_node *nodes; /* a parent is in front of its children; the first is the root */
	uint32_t nr_nodes, room_nodes;
	struct call_slot *slots; /* in the order of their first access */
	uint32_t nr_slots, room_slots;
	uint64_t merged_calls; /* counted with the node of their caller, for lack of room */
	bool has_stacks;       /* a function was entered */

	/* Private. */
	uint32_t nr_levels;
	struct u64map addresses; /* code address to 1 + its number */
	struct u64map edges;     /* numbers of function and call site to 1 + the edge's number */
	struct u64map children;  /* parent and edge to the node */
	struct u64map by_pc;     /* node and number of the address to 1 + the slot */
	struct call_position *threads;
	uint32_t nr_threads;
	struct call_near *near; /* calls and accesses that were looked up last */
};

/* NULL: no memory. */
struct call_tree *call_tree_new(const struct sim_config *config);

/* The functions return 0 or -ENOMEM. */
int call_tree_enter(struct call_tree *t, uint32_t thread, uint64_t function, uint64_t call_site);
/* The function was entered before: the trace only says again that the thread is in it. */
int call_tree_repeat(struct call_tree *t, uint32_t thread, uint64_t function, uint64_t call_site);
int call_tree_leave(struct call_tree *t, uint32_t thread, uint64_t nr);

/* The stack of @thread is empty from here on. */
int call_tree_clear(struct call_tree *t, uint32_t thread);

int call_tree_access(struct call_tree *t, const struct mem_record *r,
		     const struct sim_outcome *out);

/* Accepts NULL. */
void call_tree_free(struct call_tree *t);

#endif

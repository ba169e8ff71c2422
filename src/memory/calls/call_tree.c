/* SPDX-License-Identifier: MIT */
/* call_tree.c - the accesses of a trace and their misses, by code address and call stack. */
#include "memory/calls/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CALL_NEAR      4096u
#define CALL_THREADS   (1u << 20) /* further threads share a stack, which stays empty */
#define CALL_ONE_IN256 256u

/* Where a thread is. */
struct call_position {
	uint32_t node;
	uint32_t beyond; /* calls that have no node of their own */
};

/* What was looked up last, by the low bits of a code address. */
struct call_near {
	uint64_t pc, call_site;
	uint32_t node;  /* of the slot; of the call: the parent */
	uint32_t found; /* 1 + the slot or the node; 0: unused */
};

struct call_tree *call_tree_new(const struct sim_config *config)
{
	struct call_tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->nr_levels = config->nr_levels;
	t->near = calloc((size_t)2 * CALL_NEAR, sizeof(*t->near));
	t->nodes = calloc(64, sizeof(*t->nodes));
	if (!t->near || !t->nodes) {
		call_tree_free(t);
		return NULL;
	}
	t->room_nodes = 64;
	t->nr_nodes = 1;
	return t;
}

void call_tree_free(struct call_tree *t)
{
	if (!t)
		return;
	u64map_release(&t->addresses);
	u64map_release(&t->edges);
	u64map_release(&t->children);
	u64map_release(&t->by_pc);
	free(t->threads);
	free(t->near);
	free(t->slots);
	free(t->nodes);
	free(t);
}

/* ---- lookups -------------------------------------------------------------- */

/* Make room for one more element.  NULL: no memory; *@list stays as it is then. */
static void *call_tree_grow(void *list, uint32_t nr, uint32_t *room, size_t size)
{
	uint32_t wanted = *room ? *room * 2 : 64;
	void *more;

	if (nr < *room)
		return list;
	more = reallocarray(list, wanted, size);
	if (more)
		*room = wanted;
	return more;
}

static struct call_position *call_tree_position(struct call_tree *t, uint32_t thread)
{
	uint32_t nr = t->nr_threads ? t->nr_threads : 16;
	struct call_position *more;

	if (thread >= CALL_THREADS)
		thread = CALL_THREADS;
	if (thread < t->nr_threads)
		return &t->threads[thread];
	while (nr <= thread)
		nr *= 2;
	more = reallocarray(t->threads, nr, sizeof(*more));
	if (!more)
		return NULL;
	memset(more + t->nr_threads, 0, (nr - t->nr_threads) * sizeof(*more));
	t->threads = more;
	t->nr_threads = nr;
	return &t->threads[thread];
}

static struct call_near *call_tree_near(struct call_tree *t, uint64_t pc, uint32_t node)
{
	uint64_t mixed = (pc ^ (uint64_t)node << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &t->near[mixed >> 52 & (CALL_NEAR - 1)];
}

/* 1 + the number of @key in @map, which is new if it was not there; 0: no memory. */
static uint64_t call_tree_number(struct u64map *map, uint64_t key)
{
	uint64_t *at = u64map_at(map, key);

	if (at && !*at)
		*at = u64map_count(map);
	return at ? *at : 0;
}

/* ---- calls ---------------------------------------------------------------- */

static int call_tree_add_node(struct call_tree *t, uint32_t parent, uint64_t function,
			      uint64_t call_site, uint32_t *out)
{
	struct call_node *more = call_tree_grow(t->nodes, t->nr_nodes, &t->room_nodes,
						sizeof(*more));

	if (!more)
		return -ENOMEM;
	t->nodes = more;
	more[t->nr_nodes] = (struct call_node){ .parent = parent,
						.depth = more[parent].depth + 1,
						.function = function,
						.call_site = call_site };
	*out = t->nr_nodes++;
	return 0;
}

/* The node of a call from @parent; 0, the root: there is no room for it. */
static int call_tree_child(struct call_tree *t, uint32_t parent, uint64_t function,
			   uint64_t call_site, uint32_t *out)
{
	uint64_t to = call_tree_number(&t->addresses, function);
	uint64_t from = call_tree_number(&t->addresses, call_site), edge, *at;

	edge = to && from ? call_tree_number(&t->edges, to << 32 | from) : 0;
	at = edge ? u64map_at(&t->children, (uint64_t)parent << 32 | edge) : NULL;
	if (!at)
		return -ENOMEM;
	*out = (uint32_t)*at;
	if (*at || t->nr_nodes >= CALL_NODES_MAX)
		return 0;
	if (call_tree_add_node(t, parent, function, call_site, out) < 0)
		return -ENOMEM;
	*at = *out;
	return 0;
}

static int call_tree_push(struct call_tree *t, uint32_t thread, uint64_t function,
			  uint64_t call_site, uint32_t calls)
{
	struct call_position *p = call_tree_position(t, thread);
	struct call_near *near;
	uint32_t node = 0;

	if (!p)
		return -ENOMEM;
	t->has_stacks = true;
	if (p->beyond || t->nodes[p->node].depth >= CALL_DEPTH_MAX || thread >= CALL_THREADS) {
		p->beyond += thread < CALL_THREADS;
		t->merged_calls += calls;
		return 0;
	}
	near = call_tree_near(t, function ^ call_site, p->node) + CALL_NEAR;
	if (near->found && near->node == p->node && near->pc == function &&
	    near->call_site == call_site) {
		node = near->found - 1;
	} else if (call_tree_child(t, p->node, function, call_site, &node) < 0) {
		return -ENOMEM;
	} else if (!node) {
		p->beyond++;
		t->merged_calls += calls;
		return 0;
	}
	*near = (struct call_near){ function, call_site, p->node, node + 1 };
	t->nodes[node].calls += calls;
	p->node = node;
	return 0;
}

int call_tree_enter(struct call_tree *t, uint32_t thread, uint64_t function, uint64_t call_site)
{
	return call_tree_push(t, thread, function, call_site, 1);
}

int call_tree_repeat(struct call_tree *t, uint32_t thread, uint64_t function, uint64_t call_site)
{
	return call_tree_push(t, thread, function, call_site, 0);
}

int call_tree_leave(struct call_tree *t, uint32_t thread, uint64_t nr)
{
	struct call_position *p = call_tree_position(t, thread);

	if (!p)
		return -ENOMEM;
	if (nr <= p->beyond) {
		p->beyond -= (uint32_t)nr;
		return 0;
	}
	nr -= p->beyond;
	p->beyond = 0;
	for (; nr && p->node; nr--)
		p->node = t->nodes[p->node].parent;
	return 0;
}

int call_tree_clear(struct call_tree *t, uint32_t thread)
{
	struct call_position *p = call_tree_position(t, thread);

	if (!p)
		return -ENOMEM;
	*p = (struct call_position){ 0 };
	return 0;
}

/* ---- accesses -------------------------------------------------------------- */

/* The slot of @pc below @node; beyond the limit the one without an address. */
static int call_tree_find_slot(struct call_tree *t, uint32_t node, uint64_t pc, uint32_t *out)
{
	uint64_t number, *at;
	struct call_slot *more;

	if (t->nr_slots >= CALL_SLOTS_MAX && node)
		return call_tree_find_slot(t, 0, pc, out);
	if (t->nr_slots >= 2 * CALL_SLOTS_MAX)
		pc = 0;
	number = call_tree_number(&t->addresses, pc);
	at = number ? u64map_at(&t->by_pc, (uint64_t)node << 32 | number) : NULL;
	if (!at)
		return -ENOMEM;
	if (!*at) {
		more = call_tree_grow(t->slots, t->nr_slots, &t->room_slots, sizeof(*more));
		if (!more)
			return -ENOMEM;
		t->slots = more;
		more[t->nr_slots] = (struct call_slot){ .node = node, .pc = pc };
		*at = ++t->nr_slots;
	}
	*out = (uint32_t)(*at - 1);
	return 0;
}

int call_tree_access(struct call_tree *t, const struct mem_record *r, const struct sim_outcome *out)
{
	struct call_position *p = call_tree_position(t, r->thread);
	uint64_t weight = r->weight_256 ? r->weight_256 : CALL_ONE_IN256;
	uint32_t is_write = r->kind == MEM_WRITE, slot, i;
	struct call_near *near;
	struct call_counts *c;

	if (!p)
		return -ENOMEM;
	near = call_tree_near(t, r->pc, p->node);
	if (near->found && near->pc == r->pc && near->node == p->node) {
		slot = near->found - 1;
	} else {
		if (call_tree_find_slot(t, p->node, r->pc, &slot) < 0)
			return -ENOMEM;
		*near = (struct call_near){ r->pc, 0, p->node, slot + 1 };
	}
	c = &t->slots[slot].counts;
	c->n[is_write ? CALL_WRITES : CALL_READS] += weight;
	if (!out->level[0].misses)
		return 0;
	for (i = 0; i < t->nr_levels; i++)
		c->n[CALL_MISSES + 2 * i + is_write] += out->level[i].misses * weight;
	c->n[CALL_FROM_PEER] += out->from_peer * weight;
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * line_pool.h - a fully associative cache of any size: one list of lines, with a hash.
 *
 * A level that is fully associative is a pool.  The newest or most recently used line is first.
 */
#ifndef MEMORY_SIM_LINE_POOL_H
#define MEMORY_SIM_LINE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define POOL_NONE 0u

/* The caller chooses the values; values with the same key (value >> 4) are one line. */
#define POOL_KEY(value) ((value) >> 4)

struct pool_node {
	uint64_t value;
	uint32_t newer, older; /* in the list; POOL_NONE at the ends */
	uint32_t chain;        /* the next node of the bucket, or of the free list */
};

struct pool {
	struct pool_node *nodes; /* numbered from 1 */
	uint32_t *buckets;
	uint32_t nr_buckets; /* a power of two */
	uint32_t size;       /* lines */
	uint32_t nr;         /* in use now */
	uint32_t fresh;      /* first node that was never used */
	uint32_t spare;      /* list of freed nodes */
	uint32_t newest, oldest;
	uint64_t seed; /* of the hash: random, so that a trace cannot cause collisions */
};

/* Returns 0 or -ENOMEM. */
int pool_init(struct pool *p, uint64_t size);
void pool_release(struct pool *p);

/* The node of the line of @value, or POOL_NONE. */
uint32_t pool_find(const struct pool *p, uint64_t value);

/* Insert at the front.  The pool must not be full. */
uint32_t pool_add(struct pool *p, uint64_t value);

void pool_remove(struct pool *p, uint32_t node);

static inline bool pool_full(const struct pool *p)
{
	return p->nr == p->size;
}

static inline void pool_unlink(struct pool *p, uint32_t node)
{
	const struct pool_node *n = &p->nodes[node];

	if (n->newer)
		p->nodes[n->newer].older = n->older;
	else
		p->newest = n->older;
	if (n->older)
		p->nodes[n->older].newer = n->newer;
	else
		p->oldest = n->newer;
}

static inline void pool_link(struct pool *p, uint32_t node)
{
	struct pool_node *n = &p->nodes[node];

	n->newer = POOL_NONE;
	n->older = p->newest;
	if (p->newest)
		p->nodes[p->newest].newer = node;
	else
		p->oldest = node;
	p->newest = node;
}

static inline void pool_to_front(struct pool *p, uint32_t node)
{
	if (p->newest == node)
		return;
	pool_unlink(p, node);
	pool_link(p, node);
}

#endif

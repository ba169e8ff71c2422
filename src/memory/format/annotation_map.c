/* SPDX-License-Identifier: MIT */
/* annotation_map.c - the annotations in force: a treap by start address. */
#include "memory/format/annotation_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/large_table.h"

#define SLAB_MIN 16u    /* nodes */
#define SLAB_MAX 43600u /* 2 MB: a large page of the host */

static uint64_t regions_priority(struct annotation_map *r)
{
	if (!r->seed && getrandom(&r->seed, sizeof(r->seed), GRND_NONBLOCK) != sizeof(r->seed))
		r->seed = (uint64_t)(uintptr_t)r;
	r->seed |= 1;
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed;
}

/* Nodes are allocated together: that is faster, and they are close to each other. */
struct annotation_slab {
	struct annotation_slab *next;
	size_t nr, used;
	struct annotation nodes[];
};

static bool regions_add_slab(struct annotation_map *r)
{
	size_t nr = r->slabs ? r->slabs->nr * 2 : SLAB_MIN;
	struct annotation_slab *slab;

	nr = nr < SLAB_MAX ? nr : SLAB_MAX;
	slab = large_table_new(sizeof(*slab) + nr * sizeof(slab->nodes[0]));
	if (!slab)
		return false;
	*slab = (struct annotation_slab){ .next = r->slabs, .nr = nr };
	r->slabs = slab;
	return true;
}

static struct annotation *regions_take(struct annotation_map *r)
{
	struct annotation *n = r->spare;

	if (n) {
		r->spare = n->left;
		return n;
	}
	if ((!r->slabs || r->slabs->used == r->slabs->nr) && !regions_add_slab(r))
		return NULL;
	return &r->slabs->nodes[r->slabs->used++];
}

static void regions_give_back(struct annotation_map *r, struct annotation *n)
{
	n->end = n->start; /* heap_blocks.c may still refer to it: it contains nothing */
	n->left = r->spare;
	r->spare = n;
	r->nr--;
}

/*
 * Split @t into regions that start before @key and the others, in as many steps as the tree is
 * deep.
 */
static void regions_split(struct annotation *t, uint64_t key, struct annotation **less,
			  struct annotation **rest)
{
	while (t) {
		if (t->start < key) {
			*less = t;
			less = &t->right;
			t = t->right;
		} else {
			*rest = t;
			rest = &t->left;
			t = t->left;
		}
	}
	*less = *rest = NULL;
}

/* Join two trees; all of @a starts before all of @b. */
static struct annotation *regions_join(struct annotation *a, struct annotation *b)
{
	struct annotation *root = NULL, **at = &root;

	while (a && b) {
		if (a->priority > b->priority) {
			*at = a;
			at = &a->right;
			a = a->right;
		} else {
			*at = b;
			at = &b->left;
			b = b->left;
		}
	}
	*at = a ? a : b;
	return root;
}

/* The last region that starts at or before @address. */
static struct annotation *at_or_before(struct annotation *t, uint64_t address)
{
	struct annotation *found = NULL;

	while (t) {
		if (t->start <= address) {
			found = t;
			t = t->right;
		} else {
			t = t->left;
		}
	}
	return found;
}

bool regions_remove(struct annotation_map *r, uint64_t start)
{
	struct annotation **at = &r->root, *n;

	while ((n = *at) && n->start != start)
		at = start < n->start ? &n->left : &n->right;
	if (!n)
		return false;
	*at = regions_join(n->left, n->right);
	regions_give_back(r, n);
	return true;
}

/* Free all nodes of @t without recursion.  Returns how many. */
static int drop_all(struct annotation_map *r, struct annotation *t)
{
	int nr = 0;

	while (t) {
		struct annotation *n = t;

		if (t->left) { /* rotate until the left child is NULL */
			t = n->left;
			n->left = t->right;
			t->right = n;
			continue;
		}
		t = n->right;
		regions_give_back(r, n);
		nr++;
	}
	return nr;
}

int regions_add(struct annotation_map *r, uint64_t start, uint64_t size, uint32_t elem_size,
		uint32_t type, struct annotation *met)
{
	uint64_t end = start + size < start ? UINT64_MAX : start + size;
	struct annotation *n = regions_take(r), *less, *rest, *inside, *before, *first;
	int nr = 0;

	if (!n)
		return -ENOMEM;
	*n = (struct annotation){
		.start = start, .end = end, .elem_size = elem_size, .type = type
	};
	n->priority = regions_priority(r);
	before = start ? at_or_before(r->root, start - 1) : NULL;
	if (before && before->end > start && end > start) {
		*met = *before;
		regions_remove(r, before->start);
		nr++;
	}
	regions_split(r->root, start, &less, &rest);
	regions_split(rest, end > start ? end : start + (start < UINT64_MAX), &inside, &rest);
	for (first = inside; first && first->left; first = first->left)
		;
	if (first && nr == 0)
		*met = *first;
	nr += drop_all(r, inside);
	r->root = regions_join(regions_join(less, n), rest);
	r->newest = n;
	if (++r->nr > r->most)
		r->most = r->nr;
	return nr;
}

const struct annotation *regions_before(const struct annotation_map *r, uint64_t address)
{
	return at_or_before(r->root, address);
}

const struct annotation *regions_find(const struct annotation_map *r, uint64_t address)
{
	const struct annotation *n = at_or_before(r->root, address);

	return n && address < n->end ? n : NULL;
}

void regions_release(struct annotation_map *r)
{
	while (r->slabs) {
		struct annotation_slab *slab = r->slabs;

		r->slabs = slab->next;
		free(slab);
	}
	memset(r, 0, sizeof(*r));
}

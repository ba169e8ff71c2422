/* SPDX-License-Identifier: MIT */
/* line_pool.c - a fully associative cache of any size: one list of lines, with a hash. */
#include "memory/sim/line_pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static uint32_t *bucket_of(const struct pool *p, uint64_t value)
{
	uint64_t h = (POOL_KEY(value) ^ p->seed) * UINT64_C(0x9e3779b97f4a7c15);

	h ^= h >> 32;
	h *= UINT64_C(0xd6e8feb86659fd93);
	return &p->buckets[(h >> 32) & (p->nr_buckets - 1)];
}

int pool_init(struct pool *p, uint64_t size)
{
	memset(p, 0, sizeof(*p));
	if (size >= UINT32_MAX / 4)
		return -ENOMEM;
	if (getrandom(&p->seed, sizeof(p->seed), GRND_NONBLOCK) != sizeof(p->seed))
		p->seed = (uint64_t)(uintptr_t)p;
	p->size = (uint32_t)size;
	p->fresh = 1;
	for (p->nr_buckets = 16; p->nr_buckets < p->size; p->nr_buckets *= 2)
		;
	p->nr_buckets *= 2;
	p->nodes = calloc((size_t)p->size + 1, sizeof(*p->nodes));
	p->buckets = calloc(p->nr_buckets, sizeof(*p->buckets));
	return p->nodes && p->buckets ? 0 : -ENOMEM;
}

void pool_release(struct pool *p)
{
	free(p->nodes);
	free(p->buckets);
	memset(p, 0, sizeof(*p));
}

uint32_t pool_find(const struct pool *p, uint64_t value)
{
	uint32_t node = *bucket_of(p, value);

	while (node && POOL_KEY(p->nodes[node].value) != POOL_KEY(value))
		node = p->nodes[node].chain;
	return node;
}

uint32_t pool_add(struct pool *p, uint64_t value)
{
	uint32_t *bucket = bucket_of(p, value);
	uint32_t node = p->spare;

	if (node)
		p->spare = p->nodes[node].chain;
	else
		node = p->fresh++;
	p->nodes[node].value = value;
	p->nodes[node].chain = *bucket;
	*bucket = node;
	pool_link(p, node);
	p->nr++;
	return node;
}

void pool_remove(struct pool *p, uint32_t node)
{
	uint32_t *at = bucket_of(p, p->nodes[node].value);

	while (*at != node)
		at = &p->nodes[*at].chain;
	*at = p->nodes[node].chain;
	pool_unlink(p, node);
	p->nodes[node].value = 0;
	p->nodes[node].chain = p->spare;
	p->spare = node;
	p->nr--;
}

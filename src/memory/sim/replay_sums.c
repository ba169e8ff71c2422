/* SPDX-License-Identifier: MIT */
/* replay_sums.c - add up equal accesses that only hit the first level. */
#include "memory/sim/replay_sums.h"

#include <stdlib.h>
#include <string.h>

#define SUM_BITS 13u
#define SUMS     (1u << SUM_BITS)

/* Accesses that are passed on together. */
struct replay_sum {
	uint64_t pc, start;  /* lowest address */
	uint64_t room;       /* addresses from there; 0: not used */
	uint64_t key;        /* replay_sums_key() */
	uint64_t address;    /* of the first one, which was passed on */
	uint64_t weight_256; /* not passed on yet */
};

struct replay_sums {
	struct replay_sum same[SUMS];  /* by code and address: accesses to one address */
	struct replay_sum alike[SUMS]; /* by code: accesses to several addresses */
	uint32_t used[2 * SUMS];       /* index in `same`, or SUMS + index in `alike` */
	uint32_t nr_used;
	const struct sim_config *config;
	replay_each_fn each;
	replay_alike_fn find_alike;
	void *context;
};

struct replay_sums *replay_sums_new(const struct sim_config *config, replay_each_fn each,
				    replay_alike_fn alike, void *context)
{
	struct replay_sums *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->config = config;
	p->each = each;
	p->find_alike = alike;
	p->context = context;
	return p;
}

/* What accesses have in common besides code and address. */
static uint64_t replay_sums_key(uint32_t thread, const struct mem_access *a)
{
	return (uint64_t)thread << 32 | (uint32_t)a->size << 24 | (uint32_t)a->is_write << 16 |
	       (uint32_t)a->tag << 8 | a->attr;
}

/* Pass @rec on with the outcome of a hit. */
static int replay_sums_pass(struct replay_sums *p, const struct mem_record *rec)
{
	struct sim_outcome out;

	sim_outcome_of_hit(p->config, rec->address, rec->size, &out);
	return p->each(p->context, rec, &out);
}

static int replay_sums_pass_sum(struct replay_sums *p, struct replay_sum *s)
{
	struct mem_record rec = { .kind = (uint8_t)(s->key >> 16),
				  .tag = (uint8_t)(s->key >> 8),
				  .size = (uint8_t)(s->key >> 24),
				  .attr = (uint8_t)s->key,
				  .thread = (uint32_t)(s->key >> 32),
				  .address = s->address,
				  .pc = s->pc };
	int ret = 0;

	while (ret == 0 && s->weight_256) {
		/* A multiple of 256, which every weight of a trace without samples is. */
		const uint32_t most = UINT32_MAX & ~255u;

		rec.weight_256 = s->weight_256 < most ? (uint32_t)s->weight_256 : most;
		s->weight_256 -= rec.weight_256;
		ret = replay_sums_pass(p, &rec);
	}
	return ret;
}

static struct replay_sum *replay_sums_same(struct replay_sums *p, const struct mem_access *a)
{
	uint64_t hash = (a->address ^ a->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return &p->same[hash >> (64 - SUM_BITS)];
}

static struct replay_sum *replay_sums_alike(struct replay_sums *p, const struct mem_access *a)
{
	return &p->alike[a->pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SUM_BITS)];
}

static bool replay_sums_has(const struct replay_sum *s, const struct mem_access *a, uint64_t key)
{
	return s->pc == a->pc && a->address - s->start < s->room && s->key == key;
}

/* An access that no sum has: pass it on, and begin its sum. */
static int replay_sums_begin(struct replay_sums *p, struct mem_record *rec,
			     const struct mem_access *a, uint64_t key)
{
	uint64_t start = a->address, end = a->address + 1;
	struct replay_sum *s;
	int ret;

	rec->kind = a->is_write;
	rec->tag = a->tag;
	rec->size = a->size;
	rec->attr = a->attr;
	rec->address = a->address;
	rec->pc = a->pc;
	ret = replay_sums_pass(p, rec);
	if (ret == 0 && p->find_alike)
		p->find_alike(p->context, rec, &start, &end);
	s = end - start > 1 ? replay_sums_alike(p, a) : replay_sums_same(p, a);
	if (ret == 0 && s->weight_256)
		ret = replay_sums_pass_sum(p, s);
	if (!s->room)
		p->used[p->nr_used++] = (uint32_t)(end - start > 1 ? SUMS + (s - p->alike)
								   : s - p->same);
	*s = (struct replay_sum){
		.pc = a->pc, .start = start, .room = end - start, .key = key, .address = a->address
	};
	return ret;
}

int replay_sums_add(struct replay_sums *p, struct mem_record *rec, const struct mem_access *access,
		    size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	int ret = 0;

	for (; ret == 0 && a < end; a++) {
		uint64_t key = replay_sums_key(rec->thread, a);
		struct replay_sum *s = replay_sums_alike(p, a);

		if (!replay_sums_has(s, a, key))
			s = replay_sums_same(p, a);
		if (replay_sums_has(s, a, key))
			s->weight_256 += rec->weight_256;
		else
			ret = replay_sums_begin(p, rec, a, key);
	}
	return ret;
}

int replay_sums_flush(struct replay_sums *p)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < p->nr_used; i++) {
		struct replay_sum *s = p->used[i] < SUMS ? &p->same[p->used[i]]
							 : &p->alike[p->used[i] - SUMS];

		if (ret == 0)
			ret = replay_sums_pass_sum(p, s);
		s->room = 0;
		s->weight_256 = 0;
	}
	p->nr_used = 0;
	return ret;
}

void replay_sums_free(struct replay_sums *p)
{
	free(p);
}

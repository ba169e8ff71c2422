/* SPDX-License-Identifier: MIT */
/* replay_sums.c - add up equal accesses that only hit the first level. */
#include "memory/sim/replay_sums.h"

#include <stdlib.h>
#include <string.h>

#define SUMS 4096u /* a power of two */

struct replay_sum {
	uint64_t pc, address;
	uint32_t thread;
	uint8_t size, kind, tag, attr;
	uint64_t weight_256; /* not passed on yet */
	bool is_used;        /* an access with this key was passed on; it is in `used` */
};

struct replay_sums {
	struct replay_sum sum[SUMS];
	uint16_t used[SUMS];
	uint32_t nr_used;
	const struct sim_config *config;
	replay_each_fn each;
	void *context;
};

struct replay_sums *replay_sums_new(const struct sim_config *config, replay_each_fn each,
				    void *context)
{
	struct replay_sums *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->config = config;
	p->each = each;
	p->context = context;
	return p;
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
	struct mem_record rec = { .kind = s->kind,
				  .tag = s->tag,
				  .size = s->size,
				  .attr = s->attr,
				  .thread = s->thread,
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

int replay_sums_add(struct replay_sums *p, const struct mem_record *rec)
{
	uint64_t hash = (rec->address ^ rec->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);
	struct replay_sum *s = &p->sum[hash >> 52];
	int ret = 0;

	if (s->is_used && s->pc == rec->pc && s->address == rec->address &&
	    s->thread == rec->thread && s->size == rec->size && s->kind == rec->kind &&
	    s->tag == rec->tag && s->attr == rec->attr) {
		s->weight_256 += rec->weight_256;
		return 0;
	}
	if (s->weight_256)
		ret = replay_sums_pass_sum(p, s);
	if (!s->is_used)
		p->used[p->nr_used++] = (uint16_t)(s - p->sum);
	*s = (struct replay_sum){ .pc = rec->pc,
				  .address = rec->address,
				  .thread = rec->thread,
				  .size = rec->size,
				  .kind = rec->kind,
				  .tag = rec->tag,
				  .attr = rec->attr,
				  .is_used = true };
	return ret < 0 ? ret : replay_sums_pass(p, rec);
}

int replay_sums_flush(struct replay_sums *p)
{
	uint32_t i;
	int ret = 0;

	for (i = 0; i < p->nr_used; i++) {
		struct replay_sum *s = &p->sum[p->used[i]];

		if (ret == 0)
			ret = replay_sums_pass_sum(p, s);
		s->is_used = false;
		s->weight_256 = 0;
	}
	p->nr_used = 0;
	return ret;
}

void replay_sums_free(struct replay_sums *p)
{
	free(p);
}

/* SPDX-License-Identifier: MIT */
/* replay_sums.c - add up equal accesses that only hit the first level. */
#include "memory/sim/replay_sums.h"

#include <stdlib.h>
#include <string.h>

#define SUM_BITS     13u
#define SUMS         (1u << SUM_BITS)
#define SUM_GRANULE  8u    /* log2 of the bytes whose sums may be in one list */
#define SUM_LISTS    4096u /* a power of two */
#define SUM_SIZE_MAX 255u  /* of an access */

/* Accesses that are passed on together. */
struct replay_sum {
	uint64_t pc, start;  /* lowest address */
	uint64_t room;       /* addresses from there; 0: not used */
	uint64_t key;        /* replay_sums_key() */
	uint64_t address;    /* of the first one, which was passed on */
	uint64_t weight_256; /* not passed on yet */
};

/* The lists that a sum in use is in. */
struct replay_link {
	uint32_t next, last; /* in the list of its lowest address: 1 + number; 0: none */
	uint32_t used;       /* where it is in `used` */
};

struct replay_sums {
	/* First one place for each code, then places by code and address. */
	struct replay_sum sums[2 * SUMS];
	struct replay_link links[2 * SUMS];
	uint32_t lists[SUM_LISTS]; /* 1 + number of a sum; 0: empty */
	uint32_t used[2 * SUMS];
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

static uint32_t replay_sums_by_code(const struct mem_access *a)
{
	return (uint32_t)(a->pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SUM_BITS));
}

static uint32_t replay_sums_by_address(const struct mem_access *a)
{
	uint64_t hash = (a->address ^ a->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return SUMS + (uint32_t)(hash >> (64 - SUM_BITS));
}

/* ---- lists of sums ---------------------------------------------------------- */

static uint32_t *replay_sums_list(struct replay_sums *p, uint64_t address)
{
	uint64_t granule = address >> SUM_GRANULE;

	return &p->lists[(granule ^ granule >> 12) & (SUM_LISTS - 1)];
}

static void replay_sums_link(struct replay_sums *p, uint32_t number)
{
	uint32_t *list = replay_sums_list(p, p->sums[number].start);

	p->links[number] = (struct replay_link){ .next = *list, .used = p->nr_used };
	if (*list)
		p->links[*list - 1].last = number + 1;
	*list = number + 1;
	p->used[p->nr_used++] = number;
}

static void replay_sums_unlink(struct replay_sums *p, uint32_t number)
{
	const struct replay_link *link = &p->links[number];
	uint32_t moved = p->used[--p->nr_used];

	if (link->last)
		p->links[link->last - 1].next = link->next;
	else
		*replay_sums_list(p, p->sums[number].start) = link->next;
	if (link->next)
		p->links[link->next - 1].last = link->last;
	p->used[link->used] = moved;
	p->links[moved].used = link->used;
	p->sums[number].room = 0;
}

/* ---- accesses --------------------------------------------------------------- */

/* One branch instead of three: which part differs cannot be predicted. */
static inline bool replay_sums_has(const struct replay_sum *s, const struct mem_access *a,
				   uint64_t key)
{
	return (s->pc == a->pc) & (a->address - s->start < s->room) & (s->key == key);
}

/* An access that no sum has: pass it on, and begin its sum. */
static int replay_sums_begin(struct replay_sums *p, struct mem_record *rec,
			     const struct mem_access *a, uint64_t key)
{
	uint64_t start = a->address, end = a->address + 1;
	struct replay_sum *s;
	uint32_t number;
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
	number = replay_sums_by_code(a);
	/* Accesses to one address take the place of the code only if it is free. */
	if (end - start == 1 && p->sums[number].room)
		number = replay_sums_by_address(a);
	s = &p->sums[number];
	if (ret == 0 && s->weight_256)
		ret = replay_sums_pass_sum(p, s);
	if (s->room)
		replay_sums_unlink(p, number);
	*s = (struct replay_sum){
		.pc = a->pc, .start = start, .room = end - start, .key = key, .address = a->address
	};
	replay_sums_link(p, number);
	return ret;
}

int replay_sums_add(struct replay_sums *p, struct mem_record *rec, const struct mem_access *access,
		    size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	int ret = 0;

	for (; ret == 0 && a < end; a++) {
		uint64_t key = replay_sums_key(rec->thread, a);
		uint32_t code = replay_sums_by_code(a), other = replay_sums_by_address(a);
		struct replay_sum *s =
			&p->sums[replay_sums_has(&p->sums[code], a, key) ? code : other];

		if (replay_sums_has(s, a, key))
			s->weight_256 += rec->weight_256;
		else
			ret = replay_sums_begin(p, rec, a, key);
	}
	return ret;
}

/* ---- the end of sums ----------------------------------------------------------- */

static int replay_sums_end(struct replay_sums *p, uint32_t number)
{
	int ret = replay_sums_pass_sum(p, &p->sums[number]);

	p->sums[number].weight_256 = 0;
	replay_sums_unlink(p, number);
	return ret;
}

int replay_sums_flush(struct replay_sums *p)
{
	int ret = 0;

	while (ret == 0 && p->nr_used)
		ret = replay_sums_end(p, p->used[p->nr_used - 1]);
	return ret;
}

/* True if accesses of the sum touch addresses from @start to @end. */
static bool replay_sums_is_in(const struct replay_sum *s, uint64_t start, uint64_t end)
{
	uint64_t last = s->start + s->room - 1 + SUM_SIZE_MAX;

	return s->start < end && (last >= start || last < s->start);
}

int replay_sums_flush_range(struct replay_sums *p, uint64_t start, uint64_t end)
{
	uint64_t from = start > SUM_SIZE_MAX ? start - SUM_SIZE_MAX : 0;
	uint64_t granules = ((end - 1) >> SUM_GRANULE) - (from >> SUM_GRANULE) + 1;
	uint32_t next, i;
	int ret = 0;

	if (end <= start || granules > SUM_LISTS)
		return replay_sums_flush(p);
	for (; ret == 0 && granules; granules--, from += UINT64_C(1) << SUM_GRANULE) {
		for (i = *replay_sums_list(p, from); ret == 0 && i; i = next) {
			next = p->links[i - 1].next;
			if (replay_sums_is_in(&p->sums[i - 1], start, end))
				ret = replay_sums_end(p, i - 1);
		}
	}
	return ret;
}

void replay_sums_free(struct replay_sums *p)
{
	free(p);
}

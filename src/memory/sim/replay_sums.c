/* SPDX-License-Identifier: MIT */
/* replay_sums.c - add up equal accesses that only hit the first level. */
#include "memory/sim/replay_sums.h"

#include <endian.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SUM_BITS      13u
#define SUMS          (1u << SUM_BITS)
#define SUM_GRANULE   8u    /* log2 of the bytes whose sums may be in one list */
#define SUM_PAGE      12u   /* log2 of the bytes whose sums may be in one place */
#define SUM_LISTS     4096u /* a power of two */
#define SUM_SIZE_MAX  255u  /* of an access */
#define SUM_NOT_ADDED UINT64_MAX
#define SUM_IDLE_MAX  240u   /* of replay_sums.idle */
#define SUM_IDLE      128u   /* then no sums for one address of the code begin */
#define SUM_REPEATED  16u    /* idle sums that one with repetitions makes up for */
#define SUM_RETRY     16384u /* accesses without a sum; then its sums begin again */

/* Accesses that are passed on together.  Small: most accesses look at two of them. */
struct replay_sum {
	uint64_t code;       /* replay_sums_code() */
	uint64_t start;      /* lowest address */
	uint32_t room;       /* addresses from there; 0: not used */
	uint32_t how;        /* replay_sums_how() */
	uint64_t weight_256; /* not passed on yet */
};

/* The rest of a sum in use. */
struct replay_begun {
	uint64_t address; /* of the first access, which was passed on */
	uint64_t stamp;   /* that @tally had */
	struct replay_tally *tally;
	uint32_t next, last; /* in the list of its lowest address: 1 + number; 0: none */
	uint32_t used;       /* where it is in `used` */
};

struct replay_sums {
	/* First one place for each code, then places by code and address, or code and page. */
	_Alignas(64) struct replay_sum sums[2 * SUMS];
	struct replay_begun begun[2 * SUMS];
	uint32_t lists[SUM_LISTS]; /* 1 + number of a sum; 0: empty */
	uint32_t used[2 * SUMS];
	uint32_t nr_used;
	uint8_t idle[SUMS]; /* by code: grows with each sum for one address without repetition */
	uint16_t skipped[SUMS]; /* by code: accesses for which no sum began */
	const struct sim_config *config;
	replay_each_fn each;
	replay_alike_fn find_alike;
	void *context;
};

struct replay_sums *replay_sums_new(const struct sim_config *config, replay_each_fn each,
				    replay_alike_fn alike, void *context)
{
	struct replay_sums *p = aligned_alloc(_Alignof(struct replay_sums), sizeof(*p));

	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->config = config;
	p->each = each;
	p->find_alike = alike;
	p->context = context;
	return p;
}

/* The part of replay_sums_code() that the accesses of a thread have in common. */
static inline uint64_t replay_sums_thread(uint32_t thread)
{
	return thread < UINT16_MAX ? (uint64_t)thread << 48 : SUM_NOT_ADDED;
}

/* Code and thread in one number; SUM_NOT_ADDED: they do not fit. */
static inline uint64_t replay_sums_code(uint64_t thread, const struct mem_access *a)
{
	return a->pc >> 48 ? SUM_NOT_ADDED : a->pc | thread;
}

/* What accesses have in common besides: size, is_write, tag and attr, which follow each other. */
static inline uint32_t replay_sums_how(const struct mem_access *a)
{
	uint32_t how;

	_Static_assert(offsetof(struct mem_access, attr) == offsetof(struct mem_access, size) + 3,
		       "one load instead of four");
	memcpy(&how, &a->size, sizeof(how));
	return le32toh(how);
}

/* Pass @rec on with the outcome of a hit. */
static int replay_sums_pass(struct replay_sums *p, const struct mem_record *rec)
{
	struct sim_outcome out;

	sim_outcome_of_hit(p->config, rec->address, rec->size, &out);
	return p->each(p->context, rec, &out);
}

static int replay_sums_pass_sum(struct replay_sums *p, uint32_t number)
{
	const struct replay_begun *begun = &p->begun[number];
	struct replay_sum *s = &p->sums[number];
	struct mem_record rec = { .kind = (uint8_t)(s->how >> 8),
				  .tag = (uint8_t)(s->how >> 16),
				  .size = (uint8_t)s->how,
				  .attr = (uint8_t)(s->how >> 24),
				  .thread = (uint32_t)(s->code >> 48),
				  .address = begun->address,
				  .pc = s->code << 16 >> 16 };
	int ret = 0;

	if (begun->tally && begun->tally->stamp == begun->stamp) {
		begun->tally->weight_256 += s->weight_256;
		s->weight_256 = 0;
	}
	while (ret == 0 && s->weight_256) {
		/* A multiple of 256, which every weight of a trace without samples is. */
		const uint32_t most = UINT32_MAX & ~255u;

		rec.weight_256 = s->weight_256 < most ? (uint32_t)s->weight_256 : most;
		s->weight_256 -= rec.weight_256;
		ret = replay_sums_pass(p, &rec);
	}
	return ret;
}

static uint32_t replay_sums_of_pc(uint64_t pc)
{
	return (uint32_t)(pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - SUM_BITS));
}

static uint32_t replay_sums_by_code(const struct mem_access *a)
{
	return replay_sums_of_pc(a->pc);
}

static uint32_t replay_sums_by_address(const struct mem_access *a)
{
	uint64_t hash = (a->address ^ a->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);

	return SUMS + (uint32_t)(hash >> (64 - SUM_BITS));
}

static uint32_t replay_sums_by_page(const struct mem_access *a)
{
	uint64_t hash = ((a->address >> SUM_PAGE) + (a->pc << 24)) * UINT64_C(0xbf58476d1ce4e5b9);

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

	p->begun[number].next = *list;
	p->begun[number].last = 0;
	p->begun[number].used = p->nr_used;
	if (*list)
		p->begun[*list - 1].last = number + 1;
	*list = number + 1;
	p->used[p->nr_used++] = number;
}

static void replay_sums_unlink(struct replay_sums *p, uint32_t number)
{
	const struct replay_begun *link = &p->begun[number];
	uint32_t moved = p->used[--p->nr_used];

	if (link->last)
		p->begun[link->last - 1].next = link->next;
	else
		*replay_sums_list(p, p->sums[number].start) = link->next;
	if (link->next)
		p->begun[link->next - 1].last = link->last;
	p->used[link->used] = moved;
	p->begun[moved].used = link->used;
	p->sums[number].room = 0;
}

/* ---- accesses --------------------------------------------------------------- */

static inline bool replay_sums_has(const struct replay_sum *s, const struct mem_access *a,
				   uint64_t code, uint32_t how)
{
	return a->address - s->start < s->room && s->code == code && s->how == how;
}

/*
 * The place of a new sum for @room addresses.  That of the code is for many addresses: then a loop
 * over all of a large block finds it.
 */
static uint32_t replay_sums_place(const struct replay_sums *p, const struct mem_access *a,
				  uint64_t room)
{
	uint32_t code = replay_sums_by_code(a);

	if (room > p->sums[code].room)
		return code;
	return room > 1 ? replay_sums_by_page(a) : replay_sums_by_address(a);
}

/* A sum makes room for another one: does the code repeat accesses to one address? */
static void replay_sums_learn(struct replay_sums *p, const struct replay_sum *s)
{
	uint8_t *idle = &p->idle[replay_sums_of_pc(s->code << 16 >> 16)];

	if (s->room != 1)
		return;
	if (s->weight_256)
		*idle = (uint8_t)(*idle > SUM_REPEATED ? *idle - SUM_REPEATED : 0);
	else if (*idle < SUM_IDLE_MAX)
		++*idle;
}

/* True if a sum for this one address would hardly have a second access. */
static bool replay_sums_is_idle(struct replay_sums *p, const struct mem_access *a)
{
	uint32_t code = replay_sums_by_code(a);

	if (p->idle[code] < SUM_IDLE)
		return false;
	if (++p->skipped[code] == SUM_RETRY)
		p->skipped[code] = p->idle[code] = 0;
	return true;
}

/* Begin a sum for addresses from @start to @end; @a is one of the accesses. */
static int replay_sums_begin_range(struct replay_sums *p, const struct mem_access *a, uint64_t code,
				   uint64_t start, uint64_t end, struct replay_tally *tally)
{
	uint32_t number = replay_sums_place(p, a, end - start);
	struct replay_sum *s = &p->sums[number];
	int ret = 0;

	replay_sums_learn(p, s);
	if (s->weight_256)
		ret = replay_sums_pass_sum(p, number);
	if (s->room)
		replay_sums_unlink(p, number);
	*s = (struct replay_sum){ .code = code,
				  .start = start,
				  .room = end - start < UINT32_MAX ? (uint32_t)(end - start)
								   : UINT32_MAX,
				  .how = replay_sums_how(a) };
	p->begun[number].address = a->address;
	p->begun[number].stamp = tally ? tally->stamp : 0;
	p->begun[number].tally = tally;
	replay_sums_link(p, number);
	return ret;
}

/* An access that no sum has: pass it on, and begin its sum. */
static int replay_sums_begin(struct replay_sums *p, struct mem_record *rec,
			     const struct mem_access *a, uint64_t code)
{
	uint64_t start = a->address, end = a->address + 1;
	struct replay_tally *tally = NULL;
	int ret;

	rec->kind = a->is_write;
	rec->tag = a->tag;
	rec->size = a->size;
	rec->attr = a->attr;
	rec->address = a->address;
	rec->pc = a->pc;
	ret = replay_sums_pass(p, rec);
	if (ret == 0 && p->find_alike)
		tally = p->find_alike(p->context, rec, &start, &end);
	if (ret < 0 || code == SUM_NOT_ADDED || (end - start == 1 && replay_sums_is_idle(p, a)))
		return ret;
	return replay_sums_begin_range(p, a, code, start, end, tally);
}

/* The sum of an access; NULL: there is none. */
static inline struct replay_sum *replay_sums_find(struct replay_sums *p, const struct mem_access *a,
						  uint64_t code, uint32_t how)
{
	struct replay_sum *s = &p->sums[replay_sums_by_code(a)];

	if (replay_sums_has(s, a, code, how))
		return s;
	s = &p->sums[replay_sums_by_address(a)];
	if (replay_sums_has(s, a, code, how))
		return s;
	s = &p->sums[replay_sums_by_page(a)];
	return replay_sums_has(s, a, code, how) ? s : NULL;
}

int replay_sums_add(struct replay_sums *p, struct mem_record *rec, const struct mem_access *access,
		    size_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	uint64_t thread = replay_sums_thread(rec->thread), weight_256 = rec->weight_256;
	int ret = 0;

	for (; ret == 0 && a < end; a++) {
		uint64_t code = replay_sums_code(thread, a);
		uint32_t how = replay_sums_how(a);
		struct replay_sum *s = replay_sums_find(p, a, code, how);

		if (s)
			s->weight_256 += weight_256;
		else
			ret = replay_sums_begin(p, rec, a, code);
	}
	return ret;
}

/*
 * Add a miss to the tally of its sum, one for several addresses: *@number, which was the last one,
 * or another.  False: it has none.
 */
static inline bool replay_sums_take_one(struct replay_sums *p, const struct mem_record *rec,
					const struct mem_access *a, const struct sim_missed *m,
					uint32_t *number)
{
	uint64_t code = replay_sums_code(replay_sums_thread(rec->thread), a);
	uint32_t how = replay_sums_how(a), k;
	const struct replay_begun *begun;
	const struct replay_tally *tally;

	if (m->outcome)
		return false;
	if (!replay_sums_has(&p->sums[*number], a, code, how)) {
		*number = replay_sums_by_code(a);
		if (!replay_sums_has(&p->sums[*number], a, code, how))
			*number = replay_sums_by_page(a);
		if (!replay_sums_has(&p->sums[*number], a, code, how))
			return false;
	}
	begun = &p->begun[*number];
	tally = begun->tally;
	if (!tally || tally->stamp != begun->stamp || !tally->misses)
		return false;
	for (k = 0; k < m->depth; k++)
		tally->misses[k] += rec->weight_256;
	if (tally->classes)
		tally->classes[m->classes & 3] += rec->weight_256;
	return true;
}

size_t replay_sums_take(struct replay_sums *p, const struct mem_record *rec,
			const struct mem_access *access, struct sim_missed *list, size_t nr)
{
	size_t i, left = 0;
	uint32_t number = 0;

	for (i = 0; i < nr; i++) {
		if (!replay_sums_take_one(p, rec, &access[list[i].index], &list[i], &number))
			list[left++] = list[i];
	}
	return left;
}

/* A sum for one address would not be for many misses. */
int replay_sums_missed(struct replay_sums *p, const struct mem_record *rec,
		       const struct mem_access *a)
{
	uint64_t code = replay_sums_code(replay_sums_thread(rec->thread), a);
	uint64_t start = a->address, end = a->address + 1;
	struct replay_tally *tally;

	if (!p->find_alike || code == SUM_NOT_ADDED)
		return 0;
	tally = p->find_alike(p->context, rec, &start, &end);
	if (!tally || end - start == 1)
		return 0;
	return replay_sums_begin_range(p, a, code, start, end, tally);
}

/* ---- the end of sums ----------------------------------------------------------- */

static int replay_sums_end(struct replay_sums *p, uint32_t number)
{
	int ret = replay_sums_pass_sum(p, number);

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
			next = p->begun[i - 1].next;
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

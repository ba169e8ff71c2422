/* SPDX-License-Identifier: MIT */
/*
 * decode_accesses.c - the fast path from plain accesses to a packer, which has to keep up with the
 * program.
 *
 * The inner loop of most programs repeats the same few accesses, each one stride further than the
 * last time.  Once a period is detected, a unit needs no site lookup and no state: its difference
 * to the unit one period before must equal that unit's difference to the one two periods before.
 * Then its symbol is 0, the cheapest one, and the sites are updated when the sequence ends.  The
 * output is byte-identical to that of cray_pack_access().
 *
 * The program can overwrite units while they are read.  The state at the end of a sequence is
 * therefore computed from the sites, as a reader does, and not from the units again.
 */
#include "decode_accesses.h"

#define TAG(c)                                                                                     \
	((((c)&CRW_IS_WRITE) ? CRAY_WRITE : CRAY_READ) | (((c)&CRW_IS_ATOMIC) ? CRAY_ATOMIC : 0) | \
	 (((c)&CRW_IS_UNALIGNED) ? CRAY_UNALIGNED : 0))
#define BYTES(c) (((c)&CRW_SIZE_MASK) <= 4 ? 1u << ((c)&CRW_SIZE_MASK) : 8u)
#define ATTR(c)                                             \
	((((c)&CRW_IS_VOLATILE) ? CRAY_ATTR_VOLATILE : 0) | \
	 (((c)&CRW_IS_COMPOUND) ? CRAY_ATTR_COMPOUND : 0) | \
	 (((c)&CRW_SIZE_MASK) == CRW_VPTR ? CRAY_ATTR_VPTR : 0))
#define HOW(c)                                                                       \
	(CRAY_HOW(TAG(c), BYTES(c), ATTR(c)) |                                       \
	 ((((c)&CRW_SIZE_MASK) == CRW_RANGE || ((c)&CRW_SIZE_MASK) == CRW_CONTROL || \
	   ((c)&CRW_IS_COMPOUND))                                                    \
		  ? CRW_CLOSER                                                       \
		  : 0))
#define HOW4(c)  HOW(c), HOW((c) + 1), HOW((c) + 2), HOW((c) + 3)
#define HOW16(c) HOW4(c), HOW4((c) + 4), HOW4((c) + 8), HOW4((c) + 12)
#define HOW64(c) HOW16(c), HOW16((c) + 16), HOW16((c) + 32), HOW16((c) + 48)
const uint32_t crw_how[256] = { HOW64(0), HOW64(64), HOW64(128), HOW64(192) };

#define PERIOD_MAX 8u  /* accesses kept; a period of half as many is found; a power of two */
#define ROW        24u /* symbols 0 in sequence before a period is searched */

/* The sites of the last accesses. */
struct recent {
	struct cray_pack_site *sites[PERIOD_MAX];
	uint32_t row; /* number of consecutive symbols 0 up to now */
};

/* The period of the last accesses, in accesses; 0: none found. */
static uint32_t decode_accesses_period(const struct recent *r, uint32_t i)
{
	uint32_t n, a, b;

	for (n = 1; n <= PERIOD_MAX / 2; n++) {
		if (r->sites[(i - 1) % PERIOD_MAX] == r->sites[(i - 1 - n) % PERIOD_MAX])
			break;
	}
	if (n > PERIOD_MAX / 2)
		return 0;
	for (a = 1; a <= n; a++) {
		/* The period before it has the same sites, and no site occurs twice in it. */
		if (r->sites[(i - a) % PERIOD_MAX] != r->sites[(i - a - n) % PERIOD_MAX])
			return 0;
		for (b = 1; b < a; b++) {
			if (r->sites[(i - a) % PERIOD_MAX] == r->sites[(i - b) % PERIOD_MAX])
				return 0;
		}
	}
	return n;
}

static inline uint64_t decode_accesses_w0(const struct crw_unit *u)
{
	return __atomic_load_n(&u->w0, __ATOMIC_RELAXED);
}

static inline uint64_t decode_accesses_w1(const struct crw_unit *u)
{
	return __atomic_load_n(&u->w1, __ATOMIC_RELAXED);
}

/* Number of units from @u on that continue a loop of @n accesses. */
static uint32_t decode_accesses_follow(const struct crw_unit *u, uint32_t nr, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		const struct crw_unit *a = u + i, *b = a - n, *c = b - n;

		if ((decode_accesses_w1(a) ^ decode_accesses_w1(b)) |
		    ((decode_accesses_w0(a) - decode_accesses_w0(b)) ^
		     (decode_accesses_w0(b) - decode_accesses_w0(c))))
			break;
	}
	return i;
}

/*
 * Update packer and sites for @nr accesses of a loop of @n, all as predicted.  Site j, counted
 * from the next one, occurs (nr - j) / n times, rounded up; each time site j - 1 precedes it, or
 * the last site of the previous iteration.
 */
static void decode_accesses_repeat(struct cray_pack *p, const struct recent *r, uint32_t i,
				   uint32_t nr, uint32_t n)
{
	struct cray_pack_site *site[PERIOD_MAX];
	uint64_t last[PERIOD_MAX];
	uint32_t j;

	for (j = 0; j < n; j++) {
		site[j] = r->sites[(i - n + j) % PERIOD_MAX];
		last[j] = site[j]->last;
	}
	for (j = 0; j < n && j < nr; j++) {
		uint64_t times = (nr - j + n - 1) / n;
		uint32_t prev = j ? j - 1 : n - 1;
		uint64_t before = last[prev] + site[prev]->stride * (j ? times : times - 1);

		site[j]->last = last[j] + site[j]->stride * times;
		site[j]->distance = site[j]->last - before;
	}
	p->here = site[(nr - 1) % n];
	p->before = p->here->last;
	__builtin_memset(p->symbol, 0, nr);
	p->symbol += nr;
	p->nr_accesses += nr;
}

/* Pack the accesses that continue a loop, if there is one.  Returns how many. */
static uint32_t decode_accesses_loop(struct cray_pack *p, struct recent *r,
				     const struct crw_unit *units, uint32_t i, uint32_t nr)
{
	uint32_t n = decode_accesses_period(r, i),
		 room = CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events, done, k;

	r->row = 0; /* do not search again at once if the loop does not continue */
	if (!n || i < 2 * n)
		return 0;
	done = decode_accesses_follow(units + i, nr - i < room ? nr - i : room, n);
	if (!done)
		return 0;
	decode_accesses_repeat(p, r, i, done, n);
	/* Update the sites of the last accesses for the next search. */
	{
		struct cray_pack_site *site[PERIOD_MAX];

		for (k = 0; k < n; k++)
			site[k] = r->sites[(i - n + k) % PERIOD_MAX];
		for (k = done < PERIOD_MAX ? 0 : done - PERIOD_MAX; k < done; k++)
			r->sites[(i + k) % PERIOD_MAX] = site[k % n];
	}
	return done;
}

/*
 * The fields that change with every access, kept in registers: through @p they would be loaded
 * and stored each time, because the byte stores might alias them.
 */
struct hot {
	struct cray_pack_site *here;
	uint64_t before;
	uint8_t *symbol, *own, *near;
	uint32_t nr;
};

static inline struct hot hot_from(const struct cray_pack *p)
{
	return (struct hot){ p->here, p->before, p->symbol, p->own, p->near, p->nr_accesses };
}

static inline void hot_to(struct cray_pack *p, const struct hot *h)
{
	p->here = h->here;
	p->before = h->before;
	p->symbol = h->symbol;
	p->own = h->own;
	p->near = h->near;
	p->nr_accesses = h->nr;
}

/* The site of an access that was not predicted; coded by its number. */
static inline struct cray_pack_site *decode_accesses_unforeseen(struct cray_pack *p,
								struct cray_pack_site *here,
								uint64_t pc, uint32_t how,
								uint32_t *who)
{
	struct cray_pack_site *site = here->other;

	here->other = here->next;
	*who = site->number + CRAY_SITE;
	if (site->pc != pc || site->how != how)
		site = cray_pack_find(p, pc, how, who);
	return site;
}

/* As cray_pack_access().  True if the symbol was 0. */
static inline bool decode_accesses_one(struct cray_pack *p, struct hot *h, uint64_t pc,
				       uint64_t address, uint32_t how)
{
	struct cray_pack_site *site = h->here->next;
	uint32_t who = CRAY_NEXT, v;

	if (site->pc != pc || site->how != how)
		site = decode_accesses_unforeseen(p, h->here, pc, how, &who);
	v = cray_pack_code(site, who, address, h->before, &h->own, &h->near);
	h->symbol = cray_varint(h->symbol, v);
	h->here->next = site;
	h->here = site;
	h->before = address;
	h->nr++;
	return v == 0;
}

/* Pack accesses up to @end, to another kind of unit, or until r->row reaches ROW. */
static uint32_t decode_accesses_some(struct cray_pack *p, struct recent *r,
				     const struct crw_unit *units, uint32_t i, uint32_t end)
{
	struct hot h = hot_from(p);

	for (; i < end && r->row < ROW; i++) {
		uint64_t head = decode_accesses_w1(&units[i]);
		uint32_t how = crw_how[head >> 56];

		if (__builtin_expect(how & CRW_CLOSER, 0))
			break;
		r->row = decode_accesses_one(p, &h, head & CRW_LOW, decode_accesses_w0(&units[i]),
					     how)
				 ? r->row + 1
				 : 0;
		r->sites[i % PERIOD_MAX] = h.here;
	}
	hot_to(p, &h);
	return i;
}

uint32_t crw_plain(struct cray_pack *p, const struct crw_unit *units, uint32_t nr)
{
	struct recent r = { .row = 0 };
	uint32_t room, end, i = 0;

	/* The room for new sites is smaller than that for accesses, and is rarely needed. */
	while (i < nr && (room = cray_pack_room(p)) > 0) {
		end = nr - i < room ? nr : i + room;
		i = decode_accesses_some(p, &r, units, i, end);
		if (r.row >= ROW)
			i += decode_accesses_loop(p, &r, units, i, nr);
		else if (i < end)
			break; /* not a plain access */
	}
	return i;
}

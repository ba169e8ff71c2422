/* SPDX-License-Identifier: MIT */
/*
 * access_batch_code.h - pack plain accesses: the code, which each access_batch_*.c compiles once.
 *
 * ACCESS_BATCH is the name of the function.
 *
 * An inner loop of most programs repeats the same few accesses, each one stride further than the
 * last time.  Once a period is detected, a unit needs no site lookup and no state: its difference
 * to the unit one period before must equal that unit's difference to the one two periods before.
 * Then its symbol is 0, the cheapest one, and the sites are updated when the sequence ends.  The
 * output is byte-identical to that of cray_pack_access().
 *
 * The program can overwrite units while they are read.  The state at the end of a sequence is
 * therefore computed from the sites, as a reader does, and not from the units again.
 */
#include "decode_accesses.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define PERIOD_MAX 16u /* accesses of the longest loop that is found */
#define BATCH      64u /* accesses that are coded before their addresses are written */
#define AFTER_LOOP 16u /* the same after a loop: often another one begins */

/* The differences of an address to the last one of its site, and to the one before, of any site. */
typedef uint64_t access_pair __attribute__((vector_size(16)));

/* ---- loops --------------------------------------------------------------- */

/*
 * Follow the predictions from the last site until it comes again: the sites of a loop, each of them
 * once.  Returns how many; 0: more than @max.
 */
static uint32_t access_batch_period(const struct cray_pack *p, struct cray_pack_site **sites,
				    uint32_t max)
{
	struct cray_pack_site *site = p->here;
	uint32_t n = 0;

	do {
		if (n == max)
			return 0;
		site = site->next;
		sites[n++] = site;
	} while (site != p->here);
	return n;
}

/* As many units as one vector register holds. */
#if defined(__AVX2__)
#define AT_ONCE 2u
#else
#define AT_ONCE 1u
#endif
typedef uint64_t unit_words __attribute__((vector_size(AT_ONCE * 16)));

/*
 * OR to @bend zeros if units differ from those @n before them as these from those @n before.  The
 * two earlier ones are of the same site, so the second word must not differ at all.
 */
static inline void access_batch_bend(unit_words *bend, const struct crw_unit *u, size_t n)
{
	unit_words a, b, c;

	__builtin_memcpy(&a, u, sizeof(a));
	__builtin_memcpy(&b, u - n, sizeof(b));
	__builtin_memcpy(&c, u - 2 * n, sizeof(c));
	*bend |= (a - b) ^ (b - c);
}

static inline bool access_batch_is_bent(const unit_words *bend)
{
#if defined(__AVX2__)
	return !_mm256_testz_si256((__m256i)*bend, (__m256i)*bend);
#else
	return ((*bend)[0] | (*bend)[1]) != 0;
#endif
}

/* The same for one unit. */
static bool access_batch_unit_bends(const struct crw_unit *u, size_t n)
{
	const struct crw_unit a = u[0], b = *(u - n), c = *(u - 2 * n);

	return a.w0 - b.w0 != b.w0 - c.w0 || a.w1 - b.w1 != b.w1 - c.w1;
}

/* Number of units from @u on that continue a loop of @n accesses. */
static uint32_t access_batch_follow(const struct crw_unit *u, uint32_t nr, uint32_t n)
{
	unit_words bend = { 0 };
	uint32_t i, j;

	for (i = 0; i + 4 <= nr && !access_batch_is_bent(&bend); i += 4) {
		for (j = 0; j < 4; j += AT_ONCE)
			access_batch_bend(&bend, u + i + j, n);
	}
	if (access_batch_is_bent(&bend))
		i -= 4;
	while (i < nr && !access_batch_unit_bends(u + i, n))
		i++;
	return i;
}

/*
 * Update packer and sites for @nr accesses of a loop of @n, all as predicted.  Site j, counted
 * from the next one, occurs (nr - j) / n times, rounded up; each time site j - 1 precedes it, or
 * the last site of the previous iteration.
 */
static void access_batch_repeat(struct cray_pack *p, struct cray_pack_site **site, uint32_t nr,
				uint32_t n)
{
	uint64_t last[PERIOD_MAX];
	uint32_t j;

	for (j = 0; j < n; j++)
		last[j] = site[j]->last;
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

/* True if the last @nr accesses, a multiple of 8, were as predicted: then each symbol is one 0. */
static bool access_batch_is_foreseen(const struct cray_pack *p, uint32_t nr)
{
	uint64_t all = 0, some;
	uint32_t i;

	for (i = 8; i <= nr; i += 8) {
		__builtin_memcpy(&some, p->symbol - i, sizeof(some));
		all |= some;
	}
	return all == 0;
}

/*
 * Pack the accesses from units[i] on that continue a loop, if at least the last 8 of the @got
 * before them were all as predicted.  Returns how many.
 */
static uint32_t access_batch_loop(struct cray_pack *p, const struct crw_unit *units, uint32_t i,
				  uint32_t nr, uint32_t got)
{
	struct cray_pack_site *sites[PERIOD_MAX];
	uint32_t n, done, known = 8, room = CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events;

	if (got < known || !access_batch_is_foreseen(p, known))
		return 0;
	while (known < got / 8 * 8 && access_batch_is_foreseen(p, known + 8))
		known += 8;
	n = access_batch_period(p, sites, known / 2 < PERIOD_MAX ? known / 2 : PERIOD_MAX);
	if (!n || i < 2 * n)
		return 0;
	done = access_batch_follow(units + i, nr - i < room ? nr - i : room, n);
	if (done)
		access_batch_repeat(p, sites, done, n);
	return done;
}

/* ---- all others ---------------------------------------------------------- */

/*
 * Which site follows and whether its address is the predicted one is often as random as the
 * program's data, so nothing here branches on it: each mispredicted branch would cost as much as
 * two accesses.  Accesses with other addresses are gathered, and completed after each batch.
 */
struct gathered {
	access_pair steps[BATCH];
	uint8_t *symbol[BATCH];
};

/* The varint of @v, which is below 2^56, and its size, without branches. */
static inline uint64_t access_batch_spread(uint64_t v, uint32_t *size)
{
	uint32_t top = 63u - (uint32_t)__builtin_clzll(v | 1);

	*size = (top * 9 + 73) / 64;
#if defined(__BMI2__)
	v = _pdep_u64(v, UINT64_C(0x7f7f7f7f7f7f7f7f));
#else
	v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
	v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
	v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
#endif
	return v | (UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * (*size - 1))) - 1));
}

static inline void access_batch_put(uint8_t *at, uint32_t v)
{
	uint16_t bytes = (uint16_t)v;

	__builtin_memcpy(at, &bytes, sizeof(bytes));
}

/* All bits set if @a and @b differ.  The compiler does not see that it is a condition. */
static inline uint64_t access_batch_differ(uint64_t a, uint64_t b)
{
	uint64_t mask = 0 - (uint64_t)(a != b);

	__asm__("" : "+r"(mask));
	return mask;
}

/* Write the addresses of @nr accesses, and complete their symbols, which have CRAY_OWN so far. */
static inline void access_batch_write(struct cray_pack *p, const struct gathered *g, uint64_t nr)
{
	uint8_t *own = p->own, *near = p->near;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		uint64_t zown = cray_zigzag(g->steps[i][0]);
		uint64_t znear = cray_zigzag(g->steps[i][1]), x;
		uint64_t far = access_batch_differ(zown <= znear, 1);
		uint32_t size;

		if (__builtin_expect((zown | znear) >> 56 != 0, 0)) {
			*(far ? &near : &own) = cray_varint(far ? near : own, far ? znear : zown);
		} else {
			x = access_batch_spread(zown ^ ((zown ^ znear) & far), &size);
			__builtin_memcpy(own, &x, sizeof(x));
			__builtin_memcpy(near, &x, sizeof(x));
			own += size & ~far;
			near += size & far;
		}
		*g->symbol[i] |= far & (CRAY_OWN ^ CRAY_NEAR);
	}
	p->own = own;
	p->near = near;
}

/*
 * CRAY_STRIDE, CRAY_FOLLOW or CRAY_OWN: which of @steps is the expected one.  By a table of two
 * bits each in a constant, without branches.
 */
static inline uint32_t access_batch_kind(access_pair steps, access_pair expected)
{
	access_pair same = (access_pair)(steps == expected);
#if defined(__x86_64__)
	uint32_t mask = (uint32_t)_mm_movemask_pd((__m128d)same);
#else
	uint32_t mask = (uint32_t)(same[0] & 1) | (uint32_t)(same[1] & 2);
#endif
	return (uint32_t)(CRAY_OWN | CRAY_FOLLOW << 8) >> (4 * mask) & 3;
}

/* The pair of @low and the second word of @high. */
static inline access_pair access_batch_join(const uint64_t *low, access_pair high)
{
#if defined(__x86_64__)
	return (access_pair)_mm_loadl_pd((__m128d)high, (const double *)low);
#else
	return (access_pair){ *low, high[1] };
#endif
}

/*
 * Pack at most @nr accesses, up to another kind of unit; there is room.  Returns how many.  The
 * fields of @p are copied: the stores might alias them.
 */
static uint32_t access_batch_some(struct cray_pack *p, const struct crw_unit *units, uint32_t nr)
{
	const struct crw_unit *u = units, *end = units + nr;
	struct cray_pack_site *here = p->here;
	access_pair before = { p->before, p->before };
	uint8_t *symbol = p->symbol;
	struct gathered g;
	uint64_t others = 0;

	for (; u < end; u++) {
		uint64_t w1 = __atomic_load_n(&u->w1, __ATOMIC_RELAXED);
		uint64_t w0 = __atomic_load_n(&u->w0, __ATOMIC_RELAXED);
		uint64_t at = w1 * UINT64_C(0x9E3779B97F4A7C15) >> (64 - CRAY_PACK_UNIT_BITS);
		struct cray_pack_site *site = cray_pack_site_at(p, p->by_unit[at]);
		access_pair address = { w0, w0 }, steps, expected;
		uint32_t kind, v;

		if (__builtin_expect(site->unit != w1, 0)) {
			site = crw_plain_site(p, w1, at);
			if (!site)
				break;
		}
		steps = address - access_batch_join(&site->last, before);
		__builtin_memcpy(&expected, site->steps, sizeof(expected));
		g.steps[others] = steps;
		g.symbol[others] = symbol;
		kind = access_batch_kind(steps, expected);
		others += kind >> 1;
		v = kind | (site->symbol &
			    (uint32_t)access_batch_differ((uintptr_t)here->next, (uintptr_t)site));
		access_batch_put(symbol, v);
		symbol += 1 + (v >> 16);
		__builtin_memcpy(site->steps, &steps, sizeof(steps));
		site->last = w0;
		here->next = site;
		here = site;
		before = address;
	}
	p->here = here;
	p->before = before[0];
	p->symbol = symbol;
	p->nr_accesses += (uint32_t)(u - units);
	access_batch_write(p, &g, others);
	return (uint32_t)(u - units);
}

uint32_t ACCESS_BATCH(struct cray_pack *p, const struct crw_unit *units, uint32_t nr)
{
	uint32_t room, want, got, looped, most = BATCH, i = 0;

	/* The room for new sites is smaller than that for accesses, and is rarely needed. */
	while (i < nr && (room = cray_pack_room(p)) > 0) {
		want = nr - i < room ? nr - i : room;
		want = want < most ? want : most;
		got = access_batch_some(p, units + i, want);
		i += got;
		if (got < want)
			break; /* not a plain access */
		looped = access_batch_loop(p, units, i, nr, got);
		most = looped ? AFTER_LOOP : BATCH;
		i += looped;
	}
	return i;
}

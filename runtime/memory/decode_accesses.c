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

#define PERIOD_MAX 16u /* accesses of the longest loop that is found */
#define BATCH      32u /* accesses that are coded before their addresses are written */

static inline uint64_t decode_accesses_w0(const struct crw_unit *u)
{
	return __atomic_load_n(&u->w0, __ATOMIC_RELAXED);
}

static inline uint64_t decode_accesses_w1(const struct crw_unit *u)
{
	return __atomic_load_n(&u->w1, __ATOMIC_RELAXED);
}

/* ---- loops --------------------------------------------------------------- */

/*
 * Follow the predictions from the last site until it comes again: the sites of a loop, each of them
 * once.  Returns how many; 0: too many.
 */
static uint32_t decode_accesses_period(const struct cray_pack *p, struct cray_pack_site **sites)
{
	struct cray_pack_site *site = p->here;
	uint32_t n = 0;

	do {
		if (n == PERIOD_MAX)
			return 0;
		site = site->next;
		sites[n++] = site;
	} while (site != p->here);
	return n;
}

/* Both words of a unit. */
typedef uint64_t unit_words __attribute__((vector_size(16)));

static inline unit_words decode_accesses_words(const struct crw_unit *u)
{
	unit_words words;

	__builtin_memcpy(&words, u, sizeof(words));
	return words;
}

/*
 * Zeros if a unit differs from the one @n before it as that one from the one @n before.  The two
 * earlier ones are of the same site, so the second word must not differ at all.
 */
static inline unit_words decode_accesses_bend(const struct crw_unit *u, uint32_t n)
{
	unit_words a = decode_accesses_words(u), b = decode_accesses_words(u - n);

	return (a - b) ^ (b - decode_accesses_words(u - 2 * (size_t)n));
}

/* Number of units from @u on that continue a loop of @n accesses. */
static uint32_t decode_accesses_follow(const struct crw_unit *u, uint32_t nr, uint32_t n)
{
	unit_words bend;
	uint32_t i;

	for (i = 0; i + 4 <= nr; i += 4) {
		bend = decode_accesses_bend(u + i, n) | decode_accesses_bend(u + i + 1, n) |
		       decode_accesses_bend(u + i + 2, n) | decode_accesses_bend(u + i + 3, n);
		if (bend[0] | bend[1])
			break;
	}
	for (; i < nr; i++) {
		bend = decode_accesses_bend(u + i, n);
		if (bend[0] | bend[1])
			break;
	}
	return i;
}

/*
 * Update packer and sites for @nr accesses of a loop of @n, all as predicted.  Site j, counted
 * from the next one, occurs (nr - j) / n times, rounded up; each time site j - 1 precedes it, or
 * the last site of the previous iteration.
 */
static void decode_accesses_repeat(struct cray_pack *p, struct cray_pack_site **site, uint32_t nr,
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

/*
 * Pack the accesses from units[i] on that continue a loop.  Returns how many.  The last BATCH
 * accesses, or as many as were recorded, were all as predicted.
 */
static uint32_t decode_accesses_loop(struct cray_pack *p, const struct crw_unit *units, uint32_t i,
				     uint32_t nr)
{
	struct cray_pack_site *sites[PERIOD_MAX];
	uint32_t n = decode_accesses_period(p, sites), done,
		 room = CRAY_PACK_RECORDS - p->nr_accesses - p->nr_events;

	if (!n || 2 * n > BATCH || i < 2 * n)
		return 0;
	done = decode_accesses_follow(units + i, nr - i < room ? nr - i : room, n);
	if (done)
		decode_accesses_repeat(p, sites, done, n);
	return done;
}

/* ---- all others ---------------------------------------------------------- */

/*
 * Which site follows and whether its address is the predicted one is often as random as the
 * program's data, so nothing here branches on it: each mispredicted branch would cost as much as
 * two accesses.  Accesses with other addresses are gathered, and completed after each batch.
 */
struct gathered {
	uint64_t own[BATCH],
		near[BATCH]; /* differences to the site's last and to any last access */
	uint8_t *symbol[BATCH];
};

/* The varint of @v, which is below 2^56, and its size, without branches. */
static inline uint64_t decode_accesses_spread(uint64_t v, uint32_t *size)
{
	uint32_t top = 63u - (uint32_t)__builtin_clzll(v | 1);

	*size = (top * 9 + 73) / 64;
	v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
	v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
	v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
	return v | (UINT64_C(0x8080808080808080) & ((UINT64_C(1) << (8 * (*size - 1))) - 1));
}

static inline void decode_accesses_put(uint8_t *at, uint32_t v)
{
	uint16_t bytes = (uint16_t)v;

	__builtin_memcpy(at, &bytes, sizeof(bytes));
}

/* All bits set if @a and @b differ.  The compiler does not see that it is a condition. */
static inline uint64_t decode_accesses_differ(uint64_t a, uint64_t b)
{
	uint64_t mask = 0 - (uint64_t)(a != b);

	__asm__("" : "+r"(mask));
	return mask;
}

/* Find or create the site of an access that by_unit[] does not have.  NULL: not a plain access. */
static __attribute__((noinline)) struct cray_pack_site *
decode_accesses_site(struct cray_pack *p, uint64_t w1, uint64_t at)
{
	uint32_t how = crw_how[CRW_CODE(w1)], who;
	struct cray_pack_site *site;

	if (how & CRW_CLOSER)
		return NULL;
	site = cray_pack_find(p, w1 & CRW_LOW, how, &who);
	site->unit = w1;
	p->by_unit[at] = cray_pack_site_offset(p, site);
	return site;
}

/* Write the addresses of @nr accesses, and complete their symbols, which have CRAY_OWN so far. */
static void decode_accesses_write(struct cray_pack *p, const struct gathered *g, uint64_t nr)
{
	uint8_t *own = p->own, *near = p->near;
	uint64_t i;

	for (i = 0; i < nr; i++) {
		uint64_t zown = cray_zigzag(g->own[i]), znear = cray_zigzag(g->near[i]), x;
		uint64_t far = decode_accesses_differ(zown <= znear, 1);
		uint32_t size;

		if (__builtin_expect((zown | znear) >> 56 != 0, 0)) {
			*(far ? &near : &own) = cray_varint(far ? near : own, far ? znear : zown);
		} else {
			x = decode_accesses_spread(zown ^ ((zown ^ znear) & far), &size);
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
 * Pack at most @nr accesses, up to another kind of unit; there is room.  Returns how many;
 * *@symbols: all symbols, ORed.  The fields of @p are copied: the stores might alias them.
 */
static uint32_t decode_accesses_batch(struct cray_pack *p, const struct crw_unit *units,
				      uint32_t nr, uint32_t *symbols)
{
	const struct crw_unit *u = units, *end = units + nr;
	struct cray_pack_site *here = p->here;
	uint64_t before = p->before, others = 0;
	uint8_t *symbol = p->symbol;
	struct gathered g;
	uint32_t all = 0;

	for (; u < end; u++) {
		uint64_t w1 = decode_accesses_w1(u), address = decode_accesses_w0(u);
		uint64_t at = w1 * UINT64_C(0x9E3779B97F4A7C15) >> (64 - CRAY_PACK_UNIT_BITS);
		struct cray_pack_site *site = cray_pack_site_at(p, p->by_unit[at]);
		uint32_t moved, lost, v;
		uint64_t own, near;

		if (__builtin_expect(site->unit != w1, 0)) {
			site = decode_accesses_site(p, w1, at);
			if (!site)
				break;
		}
		own = address - site->last;
		near = address - before;
		g.own[others] = own;
		g.near[others] = near;
		g.symbol[others] = symbol;
		moved = own != site->stride;
		lost = moved & (near != site->distance);
		others += lost;
		v = site->symbol &
		    (uint32_t)decode_accesses_differ((uintptr_t)here->next, (uintptr_t)site);
		v |= moved + lost;
		decode_accesses_put(symbol, v);
		symbol += 1 + (v >> 16);
		all |= v;
		site->stride = own;
		site->distance = near;
		site->last = address;
		here->next = site;
		here = site;
		before = address;
	}
	p->here = here;
	p->before = before;
	p->symbol = symbol;
	p->nr_accesses += (uint32_t)(u - units);
	decode_accesses_write(p, &g, others);
	*symbols = all;
	return (uint32_t)(u - units);
}

uint32_t crw_plain(struct cray_pack *p, const struct crw_unit *units, uint32_t nr)
{
	uint32_t room, want, got, symbols, i = 0;

	/* The room for new sites is smaller than that for accesses, and is rarely needed. */
	while (i < nr && (room = cray_pack_room(p)) > 0) {
		want = nr - i < room ? nr - i : room;
		want = want < BATCH ? want : BATCH;
		got = decode_accesses_batch(p, units + i, want, &symbols);
		i += got;
		if (got < want)
			break; /* not a plain access */
		if (!symbols && got == BATCH)
			i += decode_accesses_loop(p, units, i, nr);
	}
	return i;
}

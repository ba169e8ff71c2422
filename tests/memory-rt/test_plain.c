/* SPDX-License-Identifier: MIT */
/*
 * test_plain.c - the fast path for plain accesses writes the same bytes as the slow path.
 *
 * Streams of units that look like programs (loops in loops, jumps, several periods, strides
 * that change) go through crw_plain(), and its code for any processor, in runs of random length,
 * and through cray_pack_access() one by one; the payloads must be equal.  The test counts uses of
 * the fast path: streams that never take it would prove nothing.
 */
#include "check.h"
#include "decode_accesses.h"

typedef uint32_t packer(struct cray_pack *p, const struct crw_unit *units, uint32_t nr);
static packer *const packers[] = { crw_plain_any, crw_plain };

static uint64_t state = 1;

static uint32_t random_below(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 33) % n;
}

#define UNITS 50000u
static struct crw_unit units[UNITS];
static struct cray_pack fast, slow;
static uint8_t fast_bytes[CRAY_PACK_PLAIN_MAX], slow_bytes[CRAY_PACK_PLAIN_MAX];

/* Loops of 1 to 9 accesses, some with a site twice, some rows cut by a stray access. */
static void make_units(void)
{
	uint32_t i = 0, j, k;

	while (i < UNITS) {
		uint32_t period = 1 + random_below(9), rounds = random_below(200);
		uint64_t at[9], stride[9], w1[9];

		for (j = 0; j < period; j++) {
			at[j] = (uint64_t)random_below(1000000) << random_below(30);
			stride[j] = (uint64_t)random_below(128) - 64;
			w1[j] = CRW_W1(random_below(5) | (random_below(2) ? CRW_IS_WRITE : 0),
				       0x400000 + random_below(random_below(4) ? 4000 : 8));
		}
		for (k = 0; k < rounds; k++) {
			for (j = 0; j < period && i < UNITS; j++, i++) {
				units[i] = (struct crw_unit){ at[j] + k * stride[j], w1[j] };
				if (random_below(300) == 0)
					units[i].w0 += random_below(3);
			}
		}
		if (rounds == 0)
			units[i++] = (struct crw_unit){ random_below(1u << 30), w1[0] };
	}
}

static size_t finish(struct cray_pack *p, uint8_t *bytes)
{
	struct cray_block head;

	return cray_pack_finish(p, bytes, &head);
}

static void the_fast_way_makes_the_same_bytes(void)
{
	uint32_t round, at, i;
	size_t a, b;

	for (round = 0; round < 60; round++) {
		make_units();
		cray_pack_init(&fast);
		cray_pack_init(&slow);
		cray_pack_begin(&fast, 0, 0, 0);
		cray_pack_begin(&slow, 0, 0, 0);
		for (at = 0; at < UNITS;) {
			uint32_t n = 1 + random_below(4092);
			uint32_t used = packers[round % 2](&fast, units + at,
							   n < UNITS - at ? n : UNITS - at);

			if (used == 0) /* out of sites */
				break;
			for (i = 0; i < used; i++)
				cray_pack_access(&slow, units[at + i].w1 & CRW_LOW,
						 units[at + i].w0, crw_how[units[at + i].w1 >> 56]);
			at += used;
		}
		CHECK_EQ(fast.nr_accesses, slow.nr_accesses);
		a = finish(&fast, fast_bytes);
		b = finish(&slow, slow_bytes);
		CHECK_EQ(a, b);
		CHECK(memcmp(fast_bytes, slow_bytes, a) == 0);
	}
}

/* A loop as in a matrix product; and patterns that must not be taken for one. */
static void a_row_ends_where_it_ends(void)
{
	uint32_t i, used;
	size_t a, b;

	for (i = 0; i < 4000; i++)
		units[i] = (struct crw_unit){ i % 2 ? 1000 + i * 4 : 900000 + i * 400,
					      CRW_W1(3, 100 + i % 2) };
	units[3000].w0++;
	units[3500].w1 = CRW_W1(CRW_PAD, 1);
	cray_pack_init(&fast);
	cray_pack_init(&slow);
	cray_pack_begin(&fast, 0, 0, 0);
	cray_pack_begin(&slow, 0, 0, 0);
	used = crw_plain(&fast, units, 4000);
	CHECK_EQ(used, 3500);
	for (i = 0; i < used; i++)
		cray_pack_access(&slow, units[i].w1 & CRW_LOW, units[i].w0,
				 crw_how[units[i].w1 >> 56]);
	a = finish(&fast, fast_bytes);
	b = finish(&slow, slow_bytes);
	CHECK_EQ(a, b);
	CHECK(memcmp(fast_bytes, slow_bytes, a) == 0);
}

static void no_block_has_too_many_records(void)
{
	uint32_t all = 0, used;

	for (uint32_t i = 0; i < UNITS; i++)
		units[i] = (struct crw_unit){ i * 8, CRW_W1(3, 100) };
	cray_pack_init(&fast);
	cray_pack_begin(&fast, 0, 0, 0);
	while ((used = crw_plain(&fast, units, UNITS)) > 0)
		all += used;
	CHECK_EQ(all, CRAY_PACK_RECORDS);
	CHECK_EQ(fast.nr_accesses, CRAY_PACK_RECORDS);
}

int main(void)
{
	RUN(the_fast_way_makes_the_same_bytes);
	RUN(a_row_ends_where_it_ends);
	RUN(no_block_has_too_many_records);
	return 0;
}

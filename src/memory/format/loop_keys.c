/* SPDX-License-Identifier: MIT */
/*
 * loop_keys.c - the keys of accesses that a loop repeats, by the vector unit of the host.
 *
 * A vector has the addresses of as many whole rounds of the loop as fit.  The addresses of the next
 * rounds are those plus a vector that does not change.
 */
#include "memory/format/loop_keys.h"

uint32_t loop_keys_plain(const struct loop_sites *s, uint32_t nr, uint64_t *key)
{
	uint64_t inside = (UINT64_C(1) << s->shift) - 1;
	uint32_t i, k;

	for (k = 0; k < s->nr; k++) {
		uint64_t address = s->last[k], stride = s->stride[k];

		for (i = k; i < nr; i += s->nr) {
			address += stride;
			if (s->more[k] > (~address & inside))
				nr = i;
			else
				key[i] = (address >> (s->shift - 4) & ~UINT64_C(15)) + s->key[k];
		}
	}
	return nr;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define LOOP_AVX512 __attribute__((target("avx512f")))
#define LOOP_LANES  8u

/* What the lanes of a vector are of.  Those that are not used are 0. */
struct loop_lanes {
	uint64_t address[LOOP_LANES], step[LOOP_LANES], key[LOOP_LANES], more[LOOP_LANES];
	uint32_t used;
};

static struct loop_lanes loop_lanes_of(const struct loop_sites *s)
{
	uint32_t rounds = LOOP_LANES / s->nr, round, k;
	struct loop_lanes l = { .used = 0 };

	for (round = 1; round <= rounds; round++) {
		for (k = 0; k < s->nr; k++, l.used++) {
			l.address[l.used] = s->last[k] + s->stride[k] * round;
			l.step[l.used] = s->stride[k] * rounds;
			l.key[l.used] = s->key[k];
			l.more[l.used] = s->more[k];
		}
	}
	return l;
}

LOOP_AVX512 static uint32_t loop_keys_avx512(const struct loop_sites *s, uint32_t nr, uint64_t *key)
{
	struct loop_lanes l = loop_lanes_of(s);
	__m512i address = _mm512_loadu_si512(l.address), step = _mm512_loadu_si512(l.step);
	__m512i low = _mm512_loadu_si512(l.key), more = _mm512_loadu_si512(l.more), v;
	__m512i inside = _mm512_set1_epi64((1LL << s->shift) - 1);
	__m512i flags = _mm512_set1_epi64(15);
	__m128i shift = _mm_cvtsi32_si128((int)s->shift - 4);
	uint32_t i, wide;

	for (i = 0; i < nr; i += l.used) {
		uint32_t lanes = nr - i < l.used ? (1u << (nr - i)) - 1 : (1u << l.used) - 1;

		v = _mm512_andnot_si512(flags, _mm512_srl_epi64(address, shift));
		_mm512_mask_storeu_epi64(key + i, (__mmask8)lanes, _mm512_add_epi64(v, low));
		wide = _mm512_cmpgt_epu64_mask(more, _mm512_andnot_si512(address, inside)) & lanes;
		if (__builtin_expect(wide, 0))
			return i + (uint32_t)__builtin_ctz(wide);
		address = _mm512_add_epi64(address, step);
	}
	return nr;
}

uint32_t loop_keys(const struct loop_sites *s, uint32_t nr, uint64_t *key)
{
	if (s->nr <= LOOP_LANES && __builtin_cpu_supports("avx512f"))
		return loop_keys_avx512(s, nr, key);
	return loop_keys_plain(s, nr, key);
}
#else
uint32_t loop_keys(const struct loop_sites *s, uint32_t nr, uint64_t *key)
{
	return loop_keys_plain(s, nr, key);
}
#endif

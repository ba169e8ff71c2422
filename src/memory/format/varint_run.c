/* SPDX-License-Identifier: MIT */
/*
 * varint_run.c - decode many varints of a stream at once, by the vector unit of the host.
 *
 * The last byte of a value has a top bit of 0.  So one comparison finds the ends of all values in
 * 64 bytes, and no value waits for the length of the one before: eight values at a time are moved
 * to a lane each, and the groups of 7 bits are put together in all lanes.
 */
#include "memory/format/varint_run.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define VARINT_AVX512 \
	__attribute__((target("avx512f,avx512bw,avx512vbmi,avx512vbmi2,popcnt,bmi,lzcnt")))

/* Bytes of 7 bits each, the least significant first, to one number of 56 bits and its sign. */
VARINT_AVX512 static inline __m512i varint_join(__m512i x)
{
	const __m512i pair = _mm512_set1_epi16((short)0x8001); /* bytes 1 and 128 */
	const __m512i quad = _mm512_set1_epi32(0x40000001);    /* words 1 and 2^14 */
	const __m512i low = _mm512_set1_epi64(0x0fffffff);
	const __m512i one = _mm512_set1_epi64(1);
	__m512i v;

	x = _mm512_and_si512(x, _mm512_set1_epi8(0x7f));
	x = _mm512_madd_epi16(_mm512_maddubs_epi16(pair, x), quad);
	v = _mm512_or_si512(_mm512_and_si512(x, low),
			    _mm512_andnot_si512(low, _mm512_srli_epi64(x, 4)));
	return _mm512_xor_si512(_mm512_srli_epi64(v, 1),
				_mm512_sub_epi64(_mm512_setzero_si512(), _mm512_and_si512(v, one)));
}

/* Where values of 64 bytes begin, and how many bytes each has. */
struct varint_places {
	_Alignas(64) uint8_t start[VARINT_RUN];
	_Alignas(64) uint8_t size[VARINT_RUN];
};

/* Of the @nr values, one at least, that end in bytes with a bit in @is_end; other sizes are 0. */
VARINT_AVX512 static inline void varint_find(__mmask64 is_end, uint32_t nr,
					     struct varint_places *out)
{
	const __m512i numbers = _mm512_set_epi64(0x3f3e3d3c3b3a3938, 0x3736353433323130,
						 0x2f2e2d2c2b2a2928, 0x2726252423222120,
						 0x1f1e1d1c1b1a1918, 0x1716151413121110,
						 0x0f0e0d0c0b0a0908, 0x0706050403020100);
	const __m512i one = _mm512_set1_epi8(1);
	__m512i after = _mm512_add_epi8(_mm512_maskz_compress_epi8(is_end, numbers), one);
	__m512i start = _mm512_maskz_permutexvar_epi8(~UINT64_C(1), _mm512_sub_epi8(numbers, one),
						      after);

	_mm512_store_si512(out->start, start);
	_mm512_store_si512(out->size, _mm512_maskz_sub_epi8(UINT64_MAX >> (64 - nr), after, start));
}

/* 8 bytes to a lane each. */
VARINT_AVX512 static inline __m512i varint_lanes(const uint8_t *at)
{
	return _mm512_cvtepu8_epi64(_mm_loadl_epi64((const __m128i *)(const void *)at));
}

/* Decode @nr values of @bytes.  Returns how many come before the first of more than 8 bytes. */
VARINT_AVX512 static inline uint32_t
varint_values(__m512i bytes, const struct varint_places *places, uint32_t nr, uint64_t *out)
{
	const __m512i each = _mm512_set1_epi64(0x0706050403020100);
	const __m512i first = _mm512_set4_epi64(0x0808080808080808, 0, 0x0808080808080808, 0);
	const __m512i eight = _mm512_set1_epi64(8), all = _mm512_set1_epi64(-1);
	uint32_t i, wide;

	for (i = 0; i < nr; i += 8) {
		__m512i start = varint_lanes(places->start + i);
		__m512i size = varint_lanes(places->size + i);
		__m512i at = _mm512_add_epi8(_mm512_shuffle_epi8(start, first), each);
		__m512i x = _mm512_permutexvar_epi8(at, bytes);
		__m512i unused = _mm512_slli_epi64(_mm512_sub_epi64(eight, size), 3);

		x = _mm512_and_si512(x, _mm512_srlv_epi64(all, unused));
		_mm512_storeu_si512(out + i, varint_join(x));
		wide = _mm512_cmpgt_epu64_mask(size, eight);
		if (__builtin_expect(wide, 0))
			return i + (uint32_t)__builtin_ctz(wide);
	}
	return nr;
}

VARINT_AVX512 uint32_t varint_run(struct unpack_stream *s, uint64_t *out, uint32_t room)
{
	struct varint_places places;
	uint32_t nr = 0, nr_ends, did;

	while (s->end - s->at >= (ptrdiff_t)VARINT_RUN && room - nr >= VARINT_RUN) {
		__m512i bytes = _mm512_loadu_si512(s->at);
		__mmask64 is_end = ~_mm512_movepi8_mask(bytes);

		if (!is_end)
			break;
		nr_ends = (uint32_t)__builtin_popcountll(is_end);
		varint_find(is_end, nr_ends, &places);
		did = varint_values(bytes, &places, nr_ends, out + nr);
		nr += did;
		if (did < nr_ends) {
			s->at += places.start[did];
			break;
		}
		s->at += 64 - (uint32_t)__builtin_clzll(is_end);
	}
	return nr;
}

bool varint_run_works(void)
{
	return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512vbmi") &&
	       __builtin_cpu_supports("avx512bw");
}
#else
uint32_t varint_run(struct unpack_stream *s, uint64_t *out, uint32_t room)
{
	(void)s;
	(void)out;
	(void)room;
	return 0;
}

bool varint_run_works(void)
{
	return false;
}
#endif

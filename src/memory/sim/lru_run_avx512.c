/* SPDX-License-Identifier: MIT */
/* lru_run_avx512.c - lru_run.h with AVX-512: a set of 8 ways is one vector. */
#include "memory/sim/lru_run.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LRU_LANES 8
#define LRU_TAILS 1
#define LRU_LOAD  lru_avx512_load
#define LRU_STORE lru_avx512_store
#define LRU_EQUAL lru_avx512_equal
#define LRU_ALL   lru_avx512_all
#define LRU_SHIFT lru_avx512_shift

typedef __m512i lru_vector;

static inline lru_vector lru_avx512_load(const uint64_t *at, uint32_t nr)
{
	if (nr == LRU_LANES)
		return _mm512_loadu_si512(at);
	return _mm512_maskz_loadu_epi64((__mmask8)((1u << nr) - 1), at);
}

static inline void lru_avx512_store(uint64_t *at, uint32_t nr, lru_vector v)
{
	if (nr == LRU_LANES)
		_mm512_storeu_si512(at, v);
	else
		_mm512_mask_storeu_epi64(at, (__mmask8)((1u << nr) - 1), v);
}

static inline lru_vector lru_avx512_all(uint64_t value)
{
	return _mm512_set1_epi64((long long)value);
}

static inline uint32_t lru_avx512_equal(lru_vector v, lru_vector all)
{
	return _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(v, 1), all);
}

static inline lru_vector lru_avx512_shift(lru_vector v, lru_vector before, uint32_t lanes)
{
	return _mm512_mask_alignr_epi64(v, (__mmask8)lanes, v, before, 7);
}

/*
 * The common numbers of ways without a detour over one slot: the line that was found is compressed
 * to the first lane, none if there is none, and @value is added to it.
 */
#define LRU_USE_8  lru_avx512_use_8
#define LRU_USE_16 lru_avx512_use_16

static inline __mmask8 lru_avx512_find(lru_vector v, lru_vector all)
{
	return _mm512_testn_epi64_mask(_mm512_xor_si512(v, all),
				       _mm512_set1_epi64(~(long long)SLOT_DIRTY));
}

static inline uint64_t lru_avx512_use_8(uint64_t *set, uint64_t value, uint64_t *victim)
{
	lru_vector all = _mm512_set1_epi64((long long)value), v = _mm512_loadu_si512(set);
	__mmask8 found = lru_avx512_find(v, all);
	lru_vector front = _mm512_maskz_compress_epi64(found, v);
	uint32_t moves = (uint32_t)found ^ ((uint32_t)found - 1);
	lru_vector moved = _mm512_mask_alignr_epi64(v, (__mmask8)moves, v, v, 7);

	*victim = set[7];
	_mm512_storeu_si512(set, _mm512_mask_or_epi64(moved, 1, all, front));
	return (uint64_t)((int64_t)found - 1) >> 63;
}

static inline uint64_t lru_avx512_use_16(uint64_t *set, uint64_t value, uint64_t *victim)
{
	lru_vector all = _mm512_set1_epi64((long long)value);
	lru_vector low = _mm512_loadu_si512(set), high = _mm512_loadu_si512(set + 8);
	__mmask8 found_low = lru_avx512_find(low, all), found_high = lru_avx512_find(high, all);
	lru_vector front = _mm512_or_si512(_mm512_maskz_compress_epi64(found_low, low),
					   _mm512_maskz_compress_epi64(found_high, high));
	uint32_t found = (uint32_t)found_high << 8 | found_low, moves = found ^ (found - 1);
	lru_vector moved = _mm512_mask_alignr_epi64(low, (__mmask8)moves, low, low, 7);

	*victim = set[15];
	_mm512_storeu_si512(set, _mm512_mask_or_epi64(moved, 1, all, front));
	_mm512_storeu_si512(set + 8,
			    _mm512_mask_alignr_epi64(high, (__mmask8)(moves >> 8), high, low, 7));
	return (uint64_t)((int64_t)found - 1) >> 63;
}

/* ---- eight keys at a time ---------------------------------------------------- */

#define LRU_FILTER lru_avx512_filter

/* Keys that equal those before; or they read, and those before write, the same line. */
static inline __mmask8 lru_avx512_same(lru_vector before, lru_vector key)
{
	return _mm512_cmple_epu64_mask(_mm512_sub_epi64(before, key), _mm512_set1_epi64(1));
}

/* The lanes from @at on that are left. */
static inline lru_vector lru_avx512_rest(const uint64_t *key, uint32_t at, uint32_t nr)
{
	if (at >= nr)
		return _mm512_setzero_si512();
	return lru_avx512_load(key + at, nr - at < LRU_LANES ? nr - at : LRU_LANES);
}

/*
 * Keys whose line is also that of the second key after them, but not of the next one: then the
 * later key is no repetition that is left out.
 */
static inline __mmask8 lru_avx512_again(lru_vector key, lru_vector next)
{
	lru_vector one = _mm512_set1_epi64(1);
	lru_vector after = _mm512_alignr_epi64(next, key, 1);
	lru_vector second = _mm512_alignr_epi64(next, key, 2);

	return _mm512_cmpgt_epu64_mask(_mm512_xor_si512(after, key), one) &
	       _mm512_cmple_epu64_mask(_mm512_xor_si512(second, key), one);
}

static inline __attribute__((always_inline)) uint32_t
lru_avx512_filter(const uint64_t *key, uint32_t nr, uint64_t sets, const bool notes, uint64_t *out)
{
	lru_vector v, next = lru_avx512_rest(key, 0, nr), last = _mm512_setzero_si512();
	lru_vector set = _mm512_set1_epi64((long long)sets), before, second;
	uint32_t i, lanes, repeats, kept = 0;

	for (i = 0; i < nr; i += LRU_LANES) {
		v = next;
		next = lru_avx512_rest(key, i + LRU_LANES, nr);
		lanes = nr - i < LRU_LANES ? (1u << (nr - i)) - 1 : 0xff;
		before = _mm512_alignr_epi64(v, last, 7);
		second = _mm512_alignr_epi64(v, last, 6);
		repeats = lru_avx512_same(second, v) &
			  _mm512_test_epi64_mask(_mm512_xor_si512(before, v), set);
		if (notes)
			repeats &= lru_avx512_again(v, next);
		repeats |= lru_avx512_same(before, v);
		if (notes && i % LRU_FILTER_NOTES == 0)
			repeats &= ~3u;
		lanes &= ~repeats;
		_mm512_storeu_si512(out + kept, _mm512_maskz_compress_epi64((__mmask8)lanes, v));
		kept += (uint32_t)__builtin_popcount(lanes);
		last = v;
	}
	return kept;
}

#include "memory/sim/lru_run_code.h"

static bool lru_has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

const struct lru_path lru_path_avx512 = { "avx512", lru_run_chunk, lru_run_key_chunk,
					  lru_has_avx512 };
#endif

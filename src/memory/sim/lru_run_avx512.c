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

#include "memory/sim/lru_run_code.h"

static bool lru_has_avx512(void)
{
	return __builtin_cpu_supports("avx512f");
}

const struct lru_path lru_path_avx512 = { "avx512", lru_run_chunk, lru_has_avx512 };
#endif

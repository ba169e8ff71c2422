/* SPDX-License-Identifier: MIT */
/* lru_run_avx2.c - lru_run.h with AVX2: four slots are one vector. */
#include "memory/sim/lru_run.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define LRU_LANES 4
#define LRU_TAILS 0
#define LRU_LOAD  lru_avx2_load
#define LRU_STORE lru_avx2_store
#define LRU_EQUAL lru_avx2_equal
#define LRU_ALL   lru_avx2_all
#define LRU_SHIFT lru_avx2_shift

typedef __m256i lru_vector;

static inline lru_vector lru_avx2_load(const uint64_t *at, uint32_t nr)
{
	(void)nr;
	return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

static inline void lru_avx2_store(uint64_t *at, uint32_t nr, lru_vector v)
{
	(void)nr;
	_mm256_storeu_si256((__m256i *)(void *)at, v);
}

static inline lru_vector lru_avx2_all(uint64_t value)
{
	return _mm256_set1_epi64x((long long)value);
}

static inline uint32_t lru_avx2_equal(lru_vector v, lru_vector all)
{
	return (uint32_t)_mm256_movemask_pd(
		_mm256_castsi256_pd(_mm256_cmpeq_epi64(_mm256_srli_epi64(v, 1), all)));
}

static inline lru_vector lru_avx2_shift(lru_vector v, lru_vector before, uint32_t lanes)
{
	static const int64_t first[5][4] = {
		{ 0, 0, 0, 0 },    { -1, 0, 0, 0 },    { -1, -1, 0, 0 },
		{ -1, -1, -1, 0 }, { -1, -1, -1, -1 },
	};
	lru_vector moved = _mm256_blend_epi32(_mm256_permute4x64_epi64(v, 0x90),
					      _mm256_permute4x64_epi64(before, 0xff), 0x03);
	lru_vector mask = _mm256_loadu_si256(
		(const __m256i *)(const void *)first[__builtin_popcount(lanes)]);

	return _mm256_blendv_epi8(v, moved, mask);
}

#include "memory/sim/lru_run_code.h"

static bool lru_has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
}

const struct lru_path lru_path_avx2 = { "avx2", lru_run_chunk, lru_run_key_chunk, lru_has_avx2 };
#endif

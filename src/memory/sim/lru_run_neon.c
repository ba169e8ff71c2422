/* SPDX-License-Identifier: MIT */
/* lru_run_neon.c - lru_run.h with NEON: two slots are one vector. */
#include "memory/sim/lru_run.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define LRU_LANES 2
#define LRU_TAILS 0
#define LRU_LOAD  lru_neon_load
#define LRU_STORE lru_neon_store
#define LRU_EQUAL lru_neon_equal
#define LRU_ALL   lru_neon_all
#define LRU_SHIFT lru_neon_shift

typedef uint64x2_t lru_vector;

static inline lru_vector lru_neon_load(const uint64_t *at, uint32_t nr)
{
	(void)nr;
	return vld1q_u64(at);
}

static inline void lru_neon_store(uint64_t *at, uint32_t nr, lru_vector v)
{
	(void)nr;
	vst1q_u64(at, v);
}

static inline lru_vector lru_neon_all(uint64_t value)
{
	return vdupq_n_u64(value);
}

static inline uint32_t lru_neon_equal(lru_vector v, lru_vector all)
{
	lru_vector equal = vceqq_u64(vshrq_n_u64(v, 1), all);

	return (uint32_t)(vgetq_lane_u64(equal, 0) & 1) | (uint32_t)(vgetq_lane_u64(equal, 1) & 2);
}

static inline lru_vector lru_neon_shift(lru_vector v, lru_vector before, uint32_t lanes)
{
	lru_vector mask = vcombine_u64(vcreate_u64(0 - (uint64_t)(lanes & 1)),
				       vcreate_u64(0 - (uint64_t)(lanes >> 1 & 1)));

	return vbslq_u64(mask, vextq_u64(before, v, 1), v);
}

#include "memory/sim/lru_run_code.h"

const struct lru_path lru_path_neon = { "neon", lru_run_chunk, lru_run_key_chunk, NULL };
#endif

/* SPDX-License-Identifier: MIT */
/*
 * lru_run.h - many accesses of one core through simple caches, by the vector unit of the host.
 *
 * The sets of an LRU cache are ordered by use (cache.h).  So one comparison of all slots finds the
 * line, and one shift of the slots up to it both moves the line to the front and, after a miss,
 * inserts it: the last slot is the victim.  lru_run_code.h has the algorithm; a file per
 * instruction set has its vectors.  All of them change the same slots in the same way.
 */
#ifndef MEMORY_SIM_LRU_RUN_H
#define MEMORY_SIM_LRU_RUN_H

#include "memory/sim/cache.h"
#include "memory/sim/sim.h"

#define LRU_CHUNK SIM_MISSED_MAX   /* accesses of a call, at most */
#define LRU_USES  (LRU_CHUNK * 9u) /* lines of that many accesses: 255 bytes in lines of 32 */

/* Bits of a noted use, beside SLOT_OF(line). */
#define USE_WRITE      UINT64_C(1)
#define USE_MISS       UINT64_C(2)
#define USE_CLASS(use) ((use) >> 2 & 3) /* of a miss, after its classification */

struct lru_run {
	/* Input. */
	struct cache *path[SIM_LEVELS_MAX];
	uint32_t nr_levels;
	bool ahead; /* prefetch the sets of the second level */
	bool notes; /* note uses; not those of the line that was used last */

	/* The uses of each level in their order, if noted. */
	uint64_t *uses[SIM_LEVELS_MAX];
	uint32_t nr_uses[SIM_LEVELS_MAX];
	uint32_t *missed; /* the access of each miss of the first level; NULL: not noted */
	uint32_t nr_missed;

	/* Counts of this call; index of [2]: SIM_READS, SIM_WRITES. */
	uint64_t accesses[2], lines[2], bytes, straddles, empty;
	uint64_t hits[SIM_LEVELS_MAX][2], misses[SIM_LEVELS_MAX][2]; /* no hits of level 0 */
	uint64_t evictions[SIM_LEVELS_MAX], write_backs[SIM_LEVELS_MAX];
	uint64_t memory_reads, memory_writes;
};

struct lru_path {
	const char *name;
	void (*run)(struct lru_run *x, const struct mem_access *access, size_t nr);
	bool (*works)(void); /* on this host; NULL: on every host */
};

/* The best path of the host, or the one with this name; NULL: the host does not have it. */
const struct lru_path *lru_path_of(const char *name);

extern const struct lru_path lru_path_scalar;
#if defined(__x86_64__)
extern const struct lru_path lru_path_avx2, lru_path_avx512;
#elif defined(__aarch64__)
extern const struct lru_path lru_path_neon;
#endif

#endif

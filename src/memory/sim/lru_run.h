/* SPDX-License-Identifier: MIT */
/*
 * lru_run.h - many accesses of one core through simple caches, by the vector unit of the host.
 *
 * The sets of an LRU cache are ordered by use (cache.h).  So one comparison of all slots finds the
 * line, and one shift of the slots up to it both moves the line to the front and, after a miss,
 * inserts it: the last slot is the victim.  lru_run_code.h has the algorithm; a file per
 * instruction set has its vectors.  All of them change the same slots in the same way.
 *
 * No level depends on what a later level holds.  So all accesses go through the first level, which
 * makes a list of requests (lines that it misses, lines to write back) in their order; then all
 * requests go through the second level, and so on.
 */
#ifndef MEMORY_SIM_LRU_RUN_H
#define MEMORY_SIM_LRU_RUN_H

#include "memory/sim/cache.h"
#include "memory/sim/sim.h"

#define LRU_CHUNK        SIM_MISSED_MAX   /* accesses of a call, at most */
#define LRU_USES         (LRU_CHUNK * 9u) /* lines of that many accesses: 255 bytes in lines of 32 */

#define LRU_FILTER_NOTES 32u /* see lru_run_first_keys() */

/* Bits of a noted use, beside SLOT_OF(line). */
#define USE_WRITE      UINT64_C(1)
#define USE_MISS       UINT64_C(2)
#define USE_CLASS(use) ((use) >> 2 & 3) /* of a miss, after its classification */

/*
 * Bits of a request, beside the address of its line: USE_WRITE, or this: a dirty line to write
 * back.  A level passes on what it is asked for and a victim of its own for each lookup.
 */
#define LRU_WRITE_BACK      UINT64_C(2)
#define LRU_REQUESTS(level) ((size_t)LRU_USES * ((level) + 1) + 2) /* the last are scratch */

struct lru_run {
	/* Input. */
	struct cache *path[SIM_LEVELS_MAX];
	uint32_t nr_levels;
	bool notes; /* note uses; not those of the line that was used last */

	/* Requests to each level but the first, and to memory: LRU_REQUESTS(level) each. */
	uint64_t *requests[SIM_LEVELS_MAX + 1];
	uint32_t nr_requests[SIM_LEVELS_MAX + 1];

	/* The uses of each level in their order, if noted. */
	uint64_t *uses[SIM_LEVELS_MAX];
	uint32_t nr_uses[SIM_LEVELS_MAX];
	uint32_t *missed; /* the access of each miss of the first level; NULL: not noted */
	uint32_t nr_missed;

	/* Counts of this call; index of [2]: SIM_READS, SIM_WRITES. */
	uint64_t accesses[2], lines[2], bytes, straddles, empty;
	uint64_t lookups[SIM_LEVELS_MAX + 1][2]; /* but not [0]; the last: in memory */
	uint64_t fresh[SIM_LEVELS_MAX];          /* misses for which no line was evicted */
	uint64_t returned[SIM_LEVELS_MAX + 1];   /* lines written back to it; the last: to memory */
	uint64_t passed[SIM_LEVELS_MAX];         /* of them passed on: it did not hold them */
};

struct lru_path {
	const char *name;
	void (*run)(struct lru_run *x, const struct mem_access *access, size_t nr);
	/* The same for the keys of accesses; the caller has set their counts. */
	void (*run_keys)(struct lru_run *x, const uint64_t *key, size_t nr);
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

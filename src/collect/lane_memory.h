/* SPDX-License-Identifier: MIT */
/*
 * lane_memory.h - the collector's side of the lane extension of the region (corotracer/lanes.h).
 *
 * Offers the extension at the start and commits memory ahead of what programs use, so that
 * programs need not do so themselves.  Address space and file have their maximum size from the
 * start; memory does not: see `committed`.
 */
#ifndef COLLECT_LANE_MEMORY_H
#define COLLECT_LANE_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <corotracer/lanes.h>
#include <corotracer/pool.h>

#include "base/err.h"
#include "collect/chunk_parking.h"
#include "collect/region.h"
#include "process/pid_alias.h"

/* Ids of lane coroutines count from 1: a value from here on (an address, say) is not such an id. */
#define LANES_IDS_BELOW (UINT64_C(1) << 40)

#define LANES_MAX       65536u
#define LIVES_MAX       (16u << 20)
#define BUFFER_MOST     (UINT64_C(1) << 30) /* default */
#define BUFFER_HIGHEST  (UINT64_C(1) << 40)
#define BUFFER_LEAST    (8 * (uint64_t)CTP_CHUNK_SIZE)

struct lanes_config {
	uint32_t on_full;  /* CTP_ON_FULL_* */
	uint32_t block_ms; /* maximum wait */
	uint64_t buffer;   /* bytes for events that are not read yet; 0: depends on the machine */
	uint32_t lives;    /* expected number of coroutines */
};

/* All zero: no lanes are offered. */
struct lanes {
	struct ctp_ext_lanes *ext; /* [shared] */
	struct ctp_arena lanes, chunks, lives, sites;
	int fd; /* of the region */
	char *map;
	uint64_t offset, size; /* of the mapping, in the file */
	uint64_t place_holds;  /* free bytes of the file system if less than wanted; 0: enough */
	int starved;           /* errno of the first failure to commit memory */
	struct chunk_parking parking;
	struct pid_aliases *pids; /* of the processes that write; NULL: their own numbers */
};

/* Wanted size of the buffer, if the file system of the region has the room. */
uint64_t lanes_wanted(const struct lanes_config *config);

/*
 * Extend the region's file and announce lanes in its header.  On failure only stations are
 * offered.
 */
int lanes_offer(struct lanes *l, struct region *r, const struct lanes_config *config,
		struct err *err);

/*
 * Use the lanes in a private copy of a region.  The caller keeps @image: do not call
 * lanes_close().
 */
int lanes_open(struct lanes *l, struct ctp_header *header, char *image, uint64_t size,
	       struct err *err);
void lanes_close(struct lanes *l);

/* Commit memory ahead of what is in use. */
void lanes_keep_ahead(struct lanes *l);

/* Bytes of committed memory. */
uint64_t lanes_committed(const struct lanes *l);

/* Units that have memory. */
uint32_t lane_memory_committed(const struct ctp_arena *a);

/* Units in use or formerly in use; at most the limit of the pool. */
uint32_t lanes_used(const struct ctp_arena *a);

static inline struct ctp_lane *lanes_lane(const struct lanes *l, uint32_t number)
{
	return (struct ctp_lane *)ctp_unit(&l->lanes, number);
}

static inline struct ctp_chunk *lanes_chunk(const struct lanes *l, uint32_t number)
{
	return (struct ctp_chunk *)ctp_unit(&l->chunks, number);
}

static inline struct ctp_life *lanes_life(const struct lanes *l, uint32_t number)
{
	return (struct ctp_life *)ctp_unit(&l->lives, number);
}

#endif

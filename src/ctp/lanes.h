/* SPDX-License-Identifier: MIT */
/*
 * lanes.h - the collector's side of what lies behind the stations (corotracer/lanes.h).
 *
 * Offers it at the start, and keeps memory ahead of what programs take, so that they
 * need not ask for it themselves.  Address space and file are as large as they could
 * ever become; memory is not: see committed.
 */
#ifndef CTP_LANES_H
#define CTP_LANES_H

#include <stdbool.h>
#include <stdint.h>

#include <corotracer/lanes.h>
#include <corotracer/pool.h>

#include "base/err.h"
#include "ctp/region.h"

/* Ids are counted from 1: what is beyond this (an address, say) is none of them. */
#define LANES_IDS_BELOW (UINT64_C(1) << 40)

#define LANES_MAX       65536u
#define LIVES_MAX       (16u << 20)
#define BUFFER_MOST     (UINT64_C(1) << 30) /* by default */
#define BUFFER_HIGHEST  (UINT64_C(1) << 40)
#define BUFFER_LEAST    (8 * (uint64_t)CTP_CHUNK_SIZE)

struct lanes_config {
	uint32_t on_full;  /* CTP_ON_FULL_* */
	uint32_t block_ms; /* how long to wait at most */
	uint64_t buffer;   /* bytes for events not read yet; 0: as the machine allows */
	uint32_t lives;    /* so many coroutines are expected */
};

/* All zero: none are offered. */
struct lanes {
	struct ctp_ext_lanes *ext; /* [shared] */
	struct ctp_arena lanes, chunks, lives, sites;
	int fd; /* the region's */
	char *map;
	uint64_t offset, size; /* of the mapping, in the file */
	uint64_t place_holds;  /* less than was wanted: bytes that the place has; 0: it has all */
	int starved;           /* errno of the first time that there was no more memory */
};

/* Make the region's file longer and say so in its header.  On failure there are stations only. */
/* How large the buffer is to be, if the place of the region has the room. */
uint64_t lanes_wanted(const struct lanes_config *config);

int lanes_offer(struct lanes *l, struct region *r, const struct lanes_config *config,
		struct err *err);

/* Those in a private copy of somebody's region, which stays the caller's: not to be closed. */
int lanes_open(struct lanes *l, struct ctp_header *header, char *image, uint64_t size,
	       struct err *err);
void lanes_close(struct lanes *l);

/* Memory ahead of what is in use. */
void lanes_keep_ahead(struct lanes *l);

/* Bytes that there is memory for. */
uint64_t lanes_committed(const struct lanes *l);

/* Units in use or once used; never more than there can be. */
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

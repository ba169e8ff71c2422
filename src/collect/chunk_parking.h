/* SPDX-License-Identifier: MIT */
/*
 * chunk_parking.h - return the memory of chunks that a burst needed and nothing uses any more.
 *
 * The collector takes free chunks out of the pool and punches holes into the region's file.  A
 * chunk in the pool always has its memory: a program that took one without memory would be killed
 * by SIGBUS on a full file system.  So parked chunks stay with the collector, and go back, with
 * memory, when the pool runs low.  PARKING_KEEP chunks are never parked: a burst begins with them,
 * until the collector's next poll.
 *
 * The first page of a parked chunk keeps its memory.  A thread that was overtaken in ctp_pool_pop()
 * may still read the link there.
 */
#ifndef COLLECT_CHUNK_PARKING_H
#define COLLECT_CHUNK_PARKING_H

#include <stdbool.h>
#include <stdint.h>

/* Chunks that stay in the pool, for a pool of @limit chunks. */
#define PARKING_KEEP(limit) ((limit) / 16 > 256 ? (limit) / 16 : 256)
/* Chunks are parked that were free all this time. */
#define PARKING_IDLE_NS UINT64_C(3000000000)

struct chunk_parking {
	uint32_t *chunks; /* numbers of the parked chunks */
	uint32_t nr, room;
	uint32_t lowest;    /* least free chunks since the window began */
	uint32_t excess;    /* chunks still to park */
	uint64_t window_ns; /* begin of the window */
	uint64_t step_ns;   /* time of the last step */
	bool is_off;        /* the file system has no holes, or memory ran out */
};

struct lanes;

/* Called after every poll: park chunks, or give some back. */
void parking_look(struct lanes *l, uint64_t now_ns);

/* True if enough chunks are free: the pool need not grow. */
bool parking_has_enough(const struct lanes *l);

/* Bytes that parked chunks do without. */
uint64_t parking_saved(const struct lanes *l);

void parking_release(struct chunk_parking *p);

#endif

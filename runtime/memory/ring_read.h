/* SPDX-License-Identifier: MIT */
/*
 * ring_read.h - the consumer's half of wire.h: create a region and take chunks from it.
 *
 * Plain C, no libraries (no allocation, no stdio, no errno): the background thread of a traced
 * program and the collector use it.  Nothing that a program writes into the region can make these
 * functions read outside of it or loop forever.
 *
 *	crw_region_init(memory, &geometry)        lay out a new region (memory is zeros)
 *	crw_region_open(memory, size, &region)    check an existing region
 *	for each slot i: crw_slot_look(&region, i, &view)
 *		crw_take(&region, &view, &cursor, max, gone, &run)   units in order
 */
#ifndef RUNTIME_MEMORY_RING_READ_H
#define RUNTIME_MEMORY_RING_READ_H

#include <stdbool.h>

#include "wire.h"

/* A region after the checks: nothing below is read from shared memory again. */
struct crw_region {
	uint8_t *base;
	struct crw_header *header;
	struct crw_process *processes;
	struct crw_slot *slots;
	uint8_t *rings;
	uint64_t size;
	uint32_t nr_processes;
	uint32_t nr_slots;
	uint32_t nr_chunks;
	uint32_t chunk_size;
	/* Called for a chunk before it is read, where a signal would end the program; or NULL. */
	bool (*fault_in)(void *at, uint64_t size);
};

struct crw_geometry {
	uint32_t nr_processes;
	uint32_t nr_slots;
	uint32_t nr_chunks;
	uint32_t chunk_size;
	uint32_t on_full;
	uint32_t consumer_pid;
	uint32_t wants; /* CRW_WANT_* */
	uint64_t start_ns;
};

/* Bytes of a region of this geometry; 0: invalid geometry. */
uint64_t crw_region_size(const struct crw_geometry *g);

/* Number of slots of a new region. */
uint32_t crw_slots_for(uint32_t nr_chunks, uint32_t chunk_size);

/* Lay out @g in @memory (zeros, crw_region_size() bytes); the magic comes last. */
void crw_region_init(void *memory, const struct crw_geometry *g);

/* Check the region in @memory.  Returns NULL, or what is wrong with it. */
const char *crw_region_open(void *memory, uint64_t size, struct crw_region *out);

/* A copy of a slot's fields, each read once. */
struct crw_slot_view {
	uint32_t index;
	uint32_t state; /* enum crw_state; CRW_FREE if it is corrupt */
	uint32_t process;
	uint64_t serial;
	uint64_t thread;
	uint32_t tid;
	uint32_t pid;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t lost_full;
	uint64_t left_sampled;
	uint64_t left_filtered;
	char name[17]; /* always with a NUL */
};
void crw_slot_look(const struct crw_region *r, uint32_t index, struct crw_slot_view *out);

/* The consumer's position in one slot's ring; zeros when the slot is first seen live. */
struct crw_cursor {
	uint64_t taken;  /* chunks returned to the thread */
	uint32_t offset; /* units of the current chunk that are done */
	uint32_t begun;  /* 1: the head of the current chunk was read */
	uint32_t hold;   /* set by the caller, 1: only crw_publish() returns chunks */
	uint32_t reserved;
	uint64_t round;  /* of the current chunk, from its head */
	uint64_t holes;  /* units skipped because they were never filled */
	uint64_t broken; /* corrupt chunk heads and ring counters */
};

/* A run of units that crw_take() found. */
struct crw_taken {
	const struct crw_unit *units; /* in the region: the program may change them at any time */
	uint32_t nr;
	uint32_t new_chunk; /* 1: first run of a chunk, whose head is copied to `head` */
	struct crw_chunk_head head;
};

/*
 * The next run of filled units of slot @view, at most @max.  False: none now.  @gone: the thread
 * writes nothing more, so take the open chunk as well.  A run never crosses a chunk boundary.
 * The units stay valid until crw_give_back().
 */
bool crw_take(const struct crw_region *r, const struct crw_slot_view *view,
	      struct crw_cursor *cursor, uint32_t max, bool gone, struct crw_taken *out);

/* @nr units of the last run are done; the chunk is returned when all of its units are. */
void crw_give_back(const struct crw_region *r, const struct crw_slot_view *view,
		   struct crw_cursor *cursor, uint32_t nr);

/* With cursor->hold: return all chunks before the current one to the thread. */
void crw_publish(const struct crw_region *r, uint32_t slot, const struct crw_cursor *cursor);

/* Free a slot that is drained and whose thread has ended. */
void crw_slot_free(const struct crw_region *r, uint32_t index);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * take.h - the consumer's half of wire.h: making a region, and taking chunks out of it.
 *
 * Plain C without a library behind it (no allocation, no stdio, no errno): the background
 * thread of a traced program uses it as well as the collector.  Nothing that a program
 * writes into the region can make these functions read outside of it or loop for ever.
 *
 *	crw_region_init(memory, &geometry)        lay out a new region (memory is zeros)
 *	crw_region_open(memory, size, &region)    check one that is there
 *	for each slot i: crw_slot_look(&region, i, &view)
 *		crw_take(&region, &view, &cursor, units, room, gone)   units in order
 */
#ifndef MEMORY_RT_TAKE_H
#define MEMORY_RT_TAKE_H

#include <stdbool.h>

#include "wire.h"

/* A region as we checked it: nothing below is read from shared memory again. */
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
};

struct crw_geometry {
	uint32_t nr_processes;
	uint32_t nr_slots;
	uint32_t nr_chunks;
	uint32_t chunk_size;
	uint32_t on_full;
	uint32_t consumer_pid;
	uint64_t start_ns;
};

/* Bytes of a region of this geometry; 0 if it is not a possible one. */
uint64_t crw_region_size(const struct crw_geometry *g);

/* Lay out @g in @memory (zeros, crw_region_size() bytes); the magic comes last. */
void crw_region_init(void *memory, const struct crw_geometry *g);

/* Check what is in @memory.  NULL, or what is wrong with it. */
const char *crw_region_open(void *memory, uint64_t size, struct crw_region *out);

/* What a slot says, copied once. */
struct crw_slot_view {
	uint32_t index;
	uint32_t state; /* enum crw_state; CRW_FREE also if it says nonsense */
	uint32_t process;
	uint64_t serial;
	uint64_t thread;
	uint32_t tid;
	uint32_t pid;
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t lost_full;
	uint64_t lost_nested;
	uint64_t left_sampled;
	uint64_t left_filtered;
	char name[17]; /* with a NUL, always */
};
void crw_slot_look(const struct crw_region *r, uint32_t index, struct crw_slot_view *out);

/* Where the consumer is in one slot's ring; zeros when the slot is first seen live. */
struct crw_cursor {
	uint64_t taken;  /* chunks given back */
	uint32_t offset; /* units of the current one that were given out */
	uint32_t begun;  /* 1: its head was read */
	uint32_t hold;   /* set by the caller, 1: chunks go back by crw_publish() only */
	uint32_t reserved;
	uint64_t holes;  /* units skipped because nobody filled them */
	uint64_t broken; /* chunks whose head was nonsense, rings whose counters were */
};

/* What crw_take() found. */
struct crw_taken {
	const struct crw_unit *units; /* in the region: may change under the reader's eyes */
	uint32_t nr;
	uint32_t new_chunk; /* 1: first of a chunk, whose head is this copy */
	struct crw_chunk_head head;
};

/*
 * The next run of filled units of slot @view, at most @max.  False: none now.  @gone: its
 * thread will write no more, so take the open chunk as well.  A run never crosses a chunk.
 * The units stay where they are until crw_give_back().
 */
bool crw_take(const struct crw_region *r, const struct crw_slot_view *view,
	      struct crw_cursor *cursor, uint32_t max, bool gone, struct crw_taken *out);

/* @nr units of the last run are done with; the chunk goes back when all of it is. */
void crw_give_back(const struct crw_region *r, const struct crw_slot_view *view,
		   struct crw_cursor *cursor, uint32_t nr);

/* With cursor->hold: all chunks before the current one may be written again. */
void crw_publish(const struct crw_region *r, uint32_t slot, const struct crw_cursor *cursor);

/* The slot is drained and its thread gone: others may have it. */
void crw_slot_free(const struct crw_region *r, uint32_t index);

#endif

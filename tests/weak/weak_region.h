/* SPDX-License-Identifier: MIT */
/*
 * weak_region.h - a small region for the tests of lanes: the SDK's threads and the collector.
 */
#ifndef WEAK_REGION_H
#define WEAK_REGION_H

#include "collect/coroutine_table.h"
#include "collect/lane_scan.h"
#include "weak_machine.h"

#define REGION_THREADS 3u
#define REGION_EVENTS  32u

/* The region's file: its header, then lanes, chunks, lives and sites. */
#define REGION_PIECE  UINT64_C(65536)
#define REGION_PIECES 5u

struct region_shape {
	uint32_t lanes, chunks, lives, spares; /* units */
	uint32_t lane_chunks;                  /* chunks per lane */
	bool grows;                            /* the memory of lives is allocated by threads */
};

/* Make the region; each of the threads has a coroutine, with ids from 1. */
void region_make(const struct region_shape *shape);

/* Open the lane of a thread, before the first execution. */
void region_open(unsigned thread);

/* The thread with an open lane writes @nr events, before the first execution. */
void region_write(unsigned thread, unsigned nr);

/* The memory at an offset of the region's file. */
void *region_at(uint64_t offset);

/* Events of the coroutine so far. */
uint64_t region_written(unsigned coroutine);

/* What a thread of the program does. */
void region_event(unsigned coroutine);    /* a suspend with the next number */
void region_event_on(unsigned coroutine); /* the same in two records */
void region_run_ahead(unsigned ticks);    /* the counter of the calling thread runs ahead */
void region_resume(unsigned coroutine);
void region_done(unsigned coroutine);
void region_leave(void);
bool region_begin(unsigned coroutine, uint64_t parent, const char *name);
void region_end(unsigned coroutine);
uint64_t region_life_id(unsigned coroutine);
uint32_t region_take_life(void);
void region_use_life(uint32_t number); /* a plain store to the unit */
uint32_t region_life_room(void);
void region_give_life(uint32_t number);
uint32_t region_site(const char *file);

/* What the collector does. */
void region_look(void);
struct lanes *region_lanes(void);
struct drain *region_drain(void);

/* Events so far, of all executions, that have the time of a record of another thread. */
uint64_t region_floored(void);

/*
 * The end of an execution: the collector reads the rest, also of killed threads.  All that was
 * written was read once and in order, or counted as lost; all units are back, except at most one
 * chunk and one lane that a killed thread had just taken.
 */
void region_check(void);

#endif

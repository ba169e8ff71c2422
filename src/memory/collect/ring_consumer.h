/* SPDX-License-Identifier: MIT */
/*
 * ring_consumer.h - move records from the slots of the region to the output files.
 *
 * runtime/memory/wire.h defines the protocol, ring_read.h and ring_decode.h read it.  This module
 * decides which slot is read when, detects ended threads and processes, and drains their slots.
 */
#ifndef MEMORY_COLLECT_RING_CONSUMER_H
#define MEMORY_COLLECT_RING_CONSUMER_H

#include "ring_decode.h"
#include "memory/collect/trace_files.h"
#include "ring_read.h"

/* The collector's state for one slot. */
struct slot {
	bool in_use;
	bool refused;            /* corrupt, or out of memory: ignored until the slot is free */
	uint64_t serial, thread; /* process and thread that owned the slot at the start */
	uint32_t pid, tid;
	uint32_t number; /* thread number in the file */
	uint64_t start_ns;
	char name[17];
	struct crw_cursor cursor;
	struct crw_feed feed;
	struct cray_pack *pack;
	struct output *out;
	uint64_t taken_ns;   /* when units were last taken */
	uint64_t written_ns; /* when its current block was begun */
	uint64_t checked_ns; /* when the thread was last checked */
};

struct slots {
	struct crw_region *region;
	struct outputs *outputs;
	struct slot *slot;                 /* region->nr_slots elements */
	struct cray_pack *spare;           /* packer of an ended thread, for reuse */
	uint64_t nr_threads, nr_recovered; /* ever; ended without closing their buffer */
	uint64_t broken;
	bool no_memory;
};

int slots_open(struct slots *s, struct crw_region *region, struct outputs *outputs,
	       struct err *err);

/*
 * Take records from all slots.  @hurry: even if few are ready.  @last: the run is over, drain all
 * slots.  Returns whether anything was taken.
 */
bool slots_take(struct slots *s, uint64_t now_ns, bool hurry, bool last);

/*
 * True if enough chunks are ready, or a slot is new or ended.  Called before the collector
 * sleeps.
 */
bool slots_ready(const struct slots *s);

/* Complete the files of ended processes (@last: of all).  @child: the pid that @status is for. */
void slots_end_files(struct slots *s, uint32_t child, int status, bool last);

void slots_close(struct slots *s);

#endif

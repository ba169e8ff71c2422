/* SPDX-License-Identifier: MIT */
/*
 * slots.h - what threads of traced programs wrote into the region, into files.
 *
 * memory-rt/wire.h is the contract, take.h and feed.h the way through it.  Here is who is
 * read when, who is gone, and what becomes of the rest of them.
 */
#ifndef MEMORY_SLOTS_H
#define MEMORY_SLOTS_H

#include "feed.h"
#include "memory/outputs.h"
#include "take.h"

/* A slot that somebody has, as we follow it. */
struct slot {
	bool in_use;
	bool refused; /* it makes no sense, or there is no memory: not followed until it is free */
	uint64_t serial, thread; /* whose it was when we began */
	uint32_t pid, tid;
	uint32_t number; /* in the file */
	uint64_t start_ns;
	char name[17];
	struct crw_cursor cursor;
	struct crw_feed feed;
	struct cray_pack *pack;
	struct output *out;
	uint64_t taken_ns;   /* when units were last taken */
	uint64_t written_ns; /* when its last block was begun */
	uint64_t checked_ns; /* when we last looked whether its thread lives */
};

struct slots {
	struct crw_region *region;
	struct outputs *outputs;
	struct slot *slot;                 /* region->nr_slots of them */
	struct cray_pack *spare;           /* of a thread that ended */
	uint64_t nr_threads, nr_recovered; /* ever; of them, gone without saying so */
	uint64_t broken;
	bool no_memory;
};

int slots_open(struct slots *s, struct crw_region *region, struct outputs *outputs,
	       struct err *err);

/*
 * Take what there is.  @hurry: also what is too little to be worth it.  @last: the run is
 * over, everybody's rest is taken.  Returns whether there was anything.
 */
bool slots_take(struct slots *s, uint64_t now_ns, bool hurry, bool last);

/* Is a chunk ready anywhere, or a slot new or ended?  For the moment before sleeping. */
bool slots_ready(const struct slots *s);

/* End the files of processes of which nobody is left.  @child: its wait status is known. */
void slots_end_files(struct slots *s, uint32_t child, int status, bool last);

void slots_close(struct slots *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * second.h - a second pair of hands for the consumer, when the program is faster than it.
 *
 * Blocks do not depend on each other, so while the consumer makes one of the next 16 chunks
 * of a ring, another thread can make one of the 16 after those.  It is started when it is
 * first needed, and sleeps otherwise: a program that waits has left its CPU to it.
 */
#ifndef MEMORY_RT_SECOND_H
#define MEMORY_RT_SECOND_H

#include "feed.h"
#include "file.h"

#define CRT_HALF 16u /* chunks: a block's worth */

/* One piece of work: chunks from job.cursor.taken on, to job.end, of one slot, into a block. */
struct crt_job {
	struct crw_slot_view view;
	struct crw_cursor cursor; /* where it begins; then, how far it got */
	struct crw_feed feed;     /* of the thread; then, what is known at the end */
	uint64_t end;             /* chunk number at which to stop */
	uint32_t thread;          /* number in the file */
	bool hurry;
	uint32_t nr_accesses; /* in the block that came of it; it may be empty */
	bool empty;
};

/*
 * For a whole chunk of plain accesses?  Blocks end where chunks end if they can: then what is in
 * the file and what is in the ring of a killed program do not overlap.
 */
bool crt_block_has_room(const struct cray_pack *p);

/* Feed chunks of @job into @p until it is full or they are; true if the block is full. */
bool crt_job_pack(struct crt_job *job, struct cray_pack *p);

/* Let the other thread do @job.  False: there is none. */
bool crt_second_start(const struct crt_file *f, const struct crt_job *job);

/* Wait until it has; its block is in *@maker. */
const struct crt_job *crt_second_join(struct crt_maker **maker);

/* After fork: it is the parent's. */
void crt_second_forget(void);

/* A thread with all signals off and a small stack.  False: there is none. */
bool crt_start_thread(void *(*run)(void *));

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_worker.h - a second packing thread, for programs that are faster than the consumer.
 *
 * Blocks are independent, so while the consumer packs the next 16 chunks of a ring, another
 * thread can pack the 16 chunks after them.  The thread is started on first use and sleeps when
 * idle: a program that waits for room leaves its CPU to it.
 */
#ifndef RUNTIME_MEMORY_PACK_WORKER_H
#define RUNTIME_MEMORY_PACK_WORKER_H

#include "ring_decode.h"
#include "block_maker.h"

#define CRT_HALF 16u /* chunks per block */

/* One job: chunks of one slot from cursor.taken up to `end`, packed into a block. */
struct crt_job {
	struct crw_slot_view view;
	struct crw_cursor cursor; /* in: start; out: position reached */
	struct crw_feed feed;     /* in: state at the start; out: state at the end */
	uint64_t end;             /* chunk number at which to stop */
	uint32_t thread;          /* number in the file */
	bool hurry;
	uint32_t nr_accesses; /* in the resulting block, which may be empty */
	bool empty;
};

/*
 * True if @p has room for a whole chunk of plain accesses.  Blocks end at chunk boundaries where
 * possible: then the file and the ring of a killed program do not overlap.
 */
bool crt_block_has_room(const struct cray_pack *p);

/*
 * Feed chunks of @job into @p until the block is full or the job is done; true if the block is
 * full.
 */
bool crt_job_pack(struct crt_job *job, struct cray_pack *p);

/* Hand @job to the second thread.  False: it could not be started. */
bool crt_second_start(int level, const struct crt_job *job);

/* Wait for the job; its block is in *@maker. */
const struct crt_job *crt_second_join(struct cray_maker **maker);

/* In a child of fork: the thread exists only in the parent. */
void crt_second_forget(void);

/* Start a detached thread with all signals blocked and a small stack.  False on failure. */
bool crt_start_thread(void *(*run)(void *));

#endif

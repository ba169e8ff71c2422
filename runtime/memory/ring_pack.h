/* SPDX-License-Identifier: MIT */
/*
 * ring_pack.h - pack the units of one thread's ring into blocks.
 *
 * All consumers of rings use it: the background thread of a program, its second packing thread,
 * the collector and `mem recover`.
 *
 *	do {
 *		full = crw_job_pack(&job, pack);
 *		finish and write the block; crw_publish(region, slot, &job.cursor)
 *	} while (full);
 */
#ifndef RUNTIME_MEMORY_RING_PACK_H
#define RUNTIME_MEMORY_RING_PACK_H

#include "ring_decode.h"

/* Chunks of one slot, from cursor.taken up to `end`. */
struct crw_job {
	const struct crw_region *region;
	struct crw_slot_view view;
	struct crw_cursor cursor;
	struct crw_feed feed;
	uint64_t end;    /* chunk number at which to stop */
	uint32_t thread; /* number in the file */
	bool gone;       /* take the open chunk as well */
	/*
	 * With `gone`, for a thread that may be writing to its open chunk: makes its stores visible
	 * here, as if the chunk were sealed.  False: not possible, the chunk is not taken.
	 */
	bool (*settle)(void);
	bool unsettled; /* settle() returned false */
};

/* For a thread that was first seen now.  Only crw_publish() returns chunks, see cursor.hold. */
void crw_job_init(struct crw_job *job, const struct crw_region *r, const struct crw_slot_view *view,
		  uint32_t thread);

/*
 * Begin a block in @p and pack units into it.  True: the block is full, and more may follow.
 * Blocks end at chunk boundaries where possible: then the file and the ring of a killed program do
 * not overlap.
 */
bool crw_job_pack(struct crw_job *job, struct cray_pack *p);

/* Sealed chunks that are not taken. */
uint64_t crw_job_ready(const struct crw_job *job);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * pack_thread.h - a thread that packs and compresses the ring of one source at a time.
 *
 * A consumer with many threads to follow has several of them.  A packer gets a ring with
 * crw_packer_give(), takes up to CRW_GATHER chunks from it and makes blocks; until
 * crw_packer_done() returns true the ring, the blocks and the notes belong to the packer.  Only the
 * consumer writes files: facts, modules and stacks that the packer meets are notes for it.
 */
#ifndef RUNTIME_MEMORY_PACK_THREAD_H
#define RUNTIME_MEMORY_PACK_THREAD_H

#include "block_maker.h"
#include "ring_pack.h"

#define CRW_GATHER        16u /* chunks of a full block */
#define CRW_PACKERS_MAX   8u
#define CRW_PACKER_BLOCKS 4u /* a long range may need more: they are made the next time */

struct crw_packer {
	uint32_t state; /* [threads] futex: see pack_thread.c (mem-L) */
	bool runs;      /* the thread was started */
	bool hurry;     /* compress less while the source's thread waits for room */
	bool more;      /* not all that was taken is in blocks */
	uint32_t *bell; /* of the region */
	struct crw_job *job;
	struct cray_pack *pack;
	struct cray_maker *makers[CRW_PACKER_BLOCKS];
	uint32_t nr; /* blocks made */
	uint8_t *notes;
	uint64_t notes_size, notes_used;
};

/* A fact, module or stack; `size` bytes follow. */
struct crw_packer_note {
	uint64_t w0;
	uint32_t code, size;
};

/* False: no memory; close it all the same. */
bool crw_packer_open(struct crw_packer *k, const struct crw_region *r,
		     struct cray_maker *(*maker_new)(int level), int level);
/* Ends the thread. */
void crw_packer_close(struct crw_packer *k, void (*maker_free)(struct cray_maker *m));

/* Pack the ring of @job, up to job->end.  False: there is no thread. */
bool crw_packer_give(struct crw_packer *k, struct crw_job *job, bool hurry);

/* True if it is idle, and `nr`, `more` and the notes are those of the last ring. */
bool crw_packer_done(struct crw_packer *k, bool wait);

/* The note at *@at, which is moved behind it; NULL: there are no more. */
const struct crw_packer_note *crw_packer_next_note(const struct crw_packer *k, uint64_t *at);

#endif

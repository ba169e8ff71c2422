/* SPDX-License-Identifier: MIT */
/*
 * ring_consumer.h - move records from the rings of a region to containers.
 *
 * The background thread of a traced program and the collector of `mem run` are such consumers.
 * This module decides which ring is read when, follows threads from their first chunk to their
 * end, has blocks compressed by another thread while it packs the next ones, and counts what is
 * lost.  The callbacks decide where the blocks go and which threads have ended.
 *
 * With `nr_packers`, further threads pack while more than one thread of the programs is busy: each
 * takes another ring (pack_thread.h).  One ring is packed by one thread at a time, because a block
 * starts with what the one before it ended with.  On two cores packers make nothing faster.
 */
#ifndef RUNTIME_MEMORY_RING_CONSUMER_H
#define RUNTIME_MEMORY_RING_CONSUMER_H

#include "compress_worker.h"
#include "container_writer.h"
#include "pack_thread.h"
#include "ring_pack.h"

/* A thread that is followed; one per slot. */
struct crw_source {
	struct crw_job job;
	struct cray_writer *file; /* NULL: the slot is not in use */
	bool refused;             /* file_of() returned NULL: ignored until the slot is free */
	struct cray_thread thread;
	uint64_t seq;              /* of its next block */
	uint64_t serial, id;       /* process and thread that owned the slot at the start */
	uint64_t taken_ns;         /* last take, or last time that nothing was ready */
	uint64_t checked_ns;       /* last check that the thread exists */
	uint64_t told_broken;      /* corrupt units already counted as lost */
	bool has_more;             /* units were taken that are in no block yet */
	struct crw_packer *packer; /* that packs the ring now; NULL: none */
};

/* A block between the packer and the file. */
struct crw_pending {
	struct cray_maker *maker;
	struct crw_source *source;
	struct crw_cursor cursor; /* where the block ends */
	uint32_t ticket;          /* of crt_press_give() */
};

struct crw_consumer {
	struct crw_region *region;
	void *context; /* of the callbacks */

	/* The file of a thread that was first seen now.  NULL: ignore the thread. */
	struct cray_writer *(*file_of)(void *context, const struct crw_slot_view *view);
	/* Write a block, or count it as lost. */
	void (*store)(void *context, struct cray_writer *file, struct cray_maker *m);
	/* True if a thread has ended without saying so. */
	bool (*is_gone)(void *context, const struct crw_slot_view *view);
	/* True: do not sleep. */
	bool (*is_busy)(void *context);
	/* See struct crw_job; called for CRW_TAKE_OPEN. */
	bool (*settle)(void);
	struct cray_maker *(*maker_new)(int level);
	void (*maker_free)(struct cray_maker *m);
	int level;
	bool hurry;       /* compress less while a thread waits for room */
	bool hold;        /* return chunks only when they are in the file: `mem recover` needs it */
	uint64_t late_ns; /* take a ring after this time, even if little is in it */
	uint32_t nr_packers; /* further threads that pack, at most CRW_PACKERS_MAX; not with `hold`
			      */

	uint64_t nr_threads;   /* that were followed */
	uint64_t nr_recovered; /* of them, ended without saying so */
	uint64_t broken;       /* corrupt entries of ended threads */

	/* private */
	struct crw_source *sources;
	struct cray_pack *pack;
	struct crw_pending pending[CRT_PRESS_MAX];
	struct crw_packer packers[CRW_PACKERS_MAX];
	struct crw_source *packed[CRW_PACKERS_MAX]; /* the source of each; NULL: it is idle */
	uint32_t nr_ready, nr_ready_before; /* rings worth packing in this poll, and the last one */
	uint32_t most_pending;
	uint32_t first, nr_pending; /* in progress, oldest first */
	uint32_t high;              /* one past the highest slot seen in use */
	uint64_t now_ns;
};

/* What to take from the rings. */
enum crw_take {
	CRW_TAKE_READY, /* rings with enough sealed chunks, and ended threads */
	CRW_TAKE_OPEN,  /* everything, also from the open chunks of running threads */
	CRW_TAKE_REST,  /* everything: all threads have ended */
};

/* The fields up to `nr_packers` are set.  False: no memory. */
bool crw_consumer_open(struct crw_consumer *c);
void crw_consumer_close(struct crw_consumer *c);

/* Returns whether anything was taken. */
bool crw_consumer_poll(struct crw_consumer *c, enum crw_take what);

/* Sleep until a thread rings the bell, at most @ms; not if something is ready. */
void crw_consumer_sleep(struct crw_consumer *c, uint32_t ms);

/* The file is complete after this: count what running threads lost and no gap covers. */
void crw_consumer_count_lost(struct crw_consumer *c);

/* True if a thread that writes to the file of process @serial is followed. */
bool crw_consumer_has(const struct crw_consumer *c, uint64_t serial);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * class_thread.h - classify the misses of a simulation in a thread of their own.
 *
 * The classes of misses depend on the lines that each level looked up, and nothing depends on the
 * classes.  So the simulating thread fills batches with the uses of each level, and this thread
 * takes them to the shadows of the caches, in the same order.  A bounded ring of batches connects
 * the two; after class_thread_wait() the caller may use the shadows and read the counts.
 */
#ifndef MEMORY_SIM_CLASS_THREAD_H
#define MEMORY_SIM_CLASS_THREAD_H

#include "memory/sim/lru_run.h"

struct class_thread;
struct thread;

/* Uses of one simulated thread. */
struct class_batch {
	struct thread *thread;
	uint64_t weight;
	uint32_t nr_levels;
	struct cache *path[SIM_LEVELS_MAX];
	uint64_t *uses[SIM_LEVELS_MAX]; /* as struct lru_run */
	uint32_t nr_uses[SIM_LEVELS_MAX];
};

/* NULL: no memory, or no thread. */
struct class_thread *class_thread_start(uint32_t nr_levels);

/*
 * The batch to fill: of @thread and @weight, with room for LRU_USES more uses of each level.  The
 * one before is handed over if it is full or differs.  NULL: the thread has no memory.
 */
struct class_batch *class_thread_batch(struct class_thread *p, struct thread *thread,
				       uint64_t weight);

/* Hand everything over and wait until it is classified.  Returns 0 or -ENOMEM. */
int class_thread_wait(struct class_thread *p);

/* Wait, and end the thread.  Accepts NULL.  Returns 0 or -ENOMEM. */
int class_thread_end(struct class_thread *p);

#endif

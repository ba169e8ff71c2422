/* SPDX-License-Identifier: MIT */
/*
 * described_waits.h - what suspended coroutines wait for and which locks they hold, by description
 * files.
 *
 * Coroutines of C++ and tasks of Tokio are in the same lists; each is named by the address of its
 * frame or of its task.
 */
#ifndef INSPECT_DESCRIBED_WAITS_H
#define INSPECT_DESCRIBED_WAITS_H

#include "inspect/frame_table.h"
#include "inspect/waits.h"
#include "process/process_image.h"
#include "symbols/described_frames.h"

struct described_wait {
	uint64_t coroutine; /* address of the innermost frame, or of the task */
	uint32_t frame;     /* its number; FRAME_NONE: a task of Tokio */
	const char *kind;   /* "lock": a constant */
	struct described_value value;
	struct described_resource resource;
	bool is_certain; /* it is what the current co_await or .await waits for */
	bool has_limit;  /* the wait ends by a timer as well */
};

struct described_guard {
	uint64_t coroutine; /* address of the frame or the task that holds it */
	uint32_t frame;     /* its number; FRAME_NONE: a task of Tokio */
	struct described_value value;
	bool is_certain; /* the variable is certainly alive */
};

/* All zero: none. */
struct described_waits {
	struct described_frames *frames;
	struct described_wait *waits; /* sorted by the address of the coroutine */
	size_t nr_waits, room_waits;
	struct described_guard *guards; /* sorted by the address of the object */
	size_t nr_guards, room_guards;
	struct described_queues queues; /* of the resources that were read */
};

/*
 * Read the waits of the innermost frames and the guards of all frames; a descriptor goes into the
 * element of @waits.  @rules must outlive @d.  0 or -ENOMEM.
 */
int described_waits_read(struct described_waits *d, const struct type_rules *rules,
			 const struct process_image *image, struct coro_types *types,
			 const struct frame_table *table, struct frame_wait *waits);

/* Add what belongs to a task.  0 or -ENOMEM. */
int described_waits_add(struct described_waits *d, const struct described_wait *wait);
int described_guards_add(struct described_waits *d, const struct described_guard *guard);

/* Sort both lists; after the last addition. */
void described_waits_sort(struct described_waits *d);

/* What the coroutine at @addr waits for; NULL: unknown. */
const struct described_wait *described_waits_find(const struct described_waits *d, uint64_t addr);

/* The first guard of @object; d->nr_guards: none. */
size_t described_guards_of(const struct described_waits *d, uint64_t object);

void described_waits_release(struct described_waits *d);

/* For memory_reader: @arg is the image. */
bool described_memory_read(void *arg, uint64_t addr, void *buf, size_t size);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * tokio_tasks.h - the suspended tasks of a Rust program with Tokio.
 *
 * The tables of functions that contain a known poll function are searched in the read-only data of
 * the modules, the tasks that point to such a table in writable memory.
 */
#ifndef INSPECT_TOKIO_TASKS_H
#define INSPECT_TOKIO_TASKS_H

#include "base/u64map.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"
#include "symbols/rust_futures.h"

/* A task that is in the queue of its runtime has this bit in its state. */
#define TOKIO_TASK_NOTIFIED 4u

struct tokio_task {
	uint64_t addr; /* of the header */
	uint32_t type; /* number for rust_futures_type() */
	uint32_t size; /* in bytes; 0: unknown */
	uint64_t state;
	uint64_t owner; /* the list of the runtime that holds it; 0: none, or unknown */
	uint32_t stack; /* 1 + number of its innermost level, for the caller */
	struct rust_stack *places;
	const char *reason; /* of the verdict: a constant; NULL: none */
	uint8_t verdict;    /* enum inspect_verdict, set by tokio_tasks_judge() */
	uint8_t confidence; /* enum inspect_confidence */
	bool has_changed;   /* it ran or ended before the second look */
	bool is_allocated;  /* in a block that the allocator has given out; false: unknown */
};

/* All zero: none. */
struct tokio_tasks {
	const struct type_rules *rules; /* set by the caller: descriptions of types; or NULL */
	struct rust_futures *futures;
	struct tokio_task *tasks; /* suspended ones, sorted by address */
	size_t nr, room;
	size_t nr_running, nr_changed;
	bool has_clock;        /* deadlines can be compared with the time now */
	struct u64map running; /* types of running tasks to their number */
	struct u64map tables;  /* address of a table of functions to 1 + number of its type */
	uint64_t low, high;    /* of tables */
};

/*
 * Find all tasks.  0 or a negative errno.  May be called again after tokio_tasks_forget(), while
 * the process has the same modules.
 */
int tokio_tasks_read(struct tokio_tasks *t, struct process_image *image, struct coro_types *types);

/* Read a task again.  False: it runs, or is not there any more. */
bool tokio_task_read_again(struct tokio_tasks *t, struct tokio_task *task,
			   struct process_image *image);

/* Forget the tasks, and keep what is known of the program. */
void tokio_tasks_forget(struct tokio_tasks *t);

void tokio_tasks_release(struct tokio_tasks *t);

#endif

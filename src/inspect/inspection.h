/* SPDX-License-Identifier: MIT */
/*
 * inspection.h - what the coroutines of a process wait for, seen from outside.
 *
 *	struct inspection *in = inspection_new(&image, &err);
 *
 *	inspection_look(in, &err);
 *	... in->groups ...
 *	inspection_free(in);
 *
 * A group is a set of coroutines with the same stack of awaits and the same verdict.
 */
#ifndef INSPECT_INSPECTION_H
#define INSPECT_INSPECTION_H

#include "inspect/deadlocks.h"
#include "inspect/described_waits.h"
#include "inspect/frame_table.h"
#include "inspect/kernel_state.h"
#include "inspect/native_stacks.h"
#include "inspect/tokio_tasks.h"
#include "inspect/traced_list.h"
#include "inspect/waits.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"

/* The grades of the report. */
enum inspect_confidence {
	INSPECT_NONE,
	INSPECT_SUSPECT,
	INSPECT_STRONG,
	INSPECT_PROVEN,
};

enum inspect_verdict {
	VERDICT_WAITING, /* nothing is wrong */
	VERDICT_UNREACHABLE,
	VERDICT_READY_NOT_TAKEN,
	VERDICT_CLOSED,
	VERDICT_DEADLINE_PASSED,
	VERDICT_DEADLOCK,
	VERDICT_COUNT,
};

/* One level of an asynchronous stack. */
struct inspect_level {
	uint32_t parent; /* 1 + number of the next outer level; 0: the root */
	uint32_t type;   /* number of the coroutine function */
	uint32_t index;  /* resume index */
	bool is_read;    /* the index is known */
	uint32_t depth;
	const struct rust_place *rust; /* of a Tokio task; NULL: a C++ coroutine */
};

struct inspect_group {
	uint32_t stack; /* number of the innermost level */
	bool is_tokio;  /* its members are tasks of Tokio */
	bool is_ready;  /* they were woken, and no thread has run them yet */
	enum inspect_verdict verdict;
	enum inspect_confidence confidence;
	uint64_t bytes;      /* of all frames of its stacks */
	size_t first, count; /* in members; of tasks: in tokio.tasks */
	const char *reason;  /* why the verdict; NULL: none */
	const char *doubt;   /* why it is not proven; NULL: it is, or nothing is wrong */
};

struct inspection {
	struct process_image *image;
	struct coro_types *types;
	struct frame_table table;
	struct tokio_tasks tokio;
	struct frame_wait *waits;       /* per frame: what it waits for */
	const struct type_rules *rules; /* set by the caller: descriptions of types; or NULL */
	struct described_waits described;
	struct deadlocks deadlocks;
	struct kernel_state kernel;
	struct inspect_level *levels;
	size_t nr_levels, room_levels;
	struct inspect_group *groups; /* those with a fault first, then by count */
	size_t nr_groups;
	uint32_t *members; /* innermost frames, in the order of the groups */
	size_t nr_suspended, nr_finished, nr_running, nr_changed;
	struct u64map stacks; /* hash of a level to 1 + its number */
	char doubt[256];      /* why nothing is proven; "": no doubt */
	bool may_stop; /* set by the caller: threads may be stopped to read their registers */
	struct image_thread *stopped; /* the threads when they were stopped; NULL: they were not */
	size_t nr_stopped;
	struct native_stacks native; /* of the threads, as far as they are known */
	struct traced_list *traced;  /* set by the caller; NULL: nothing is known from an SDK */
	bool is_busy;                /* threads ran all the time: the kernel's word was not used */
};

/* @image must outlive it.  NULL after an error. */
struct inspection *inspection_new(struct process_image *image, struct err *err);

/* Look at all coroutines.  0 or a negative errno. */
int inspection_look(struct inspection *in, struct err *err);

/*
 * Save memory, threads and descriptors of a running process, to be looked at elsewhere as a core
 * file.  0 or a negative errno.
 */
int inspection_save(struct process_image *image, const char *path, struct err *err);

/* Add a level and set its depth.  1 + its number; 0: no memory. */
uint32_t inspection_add_level(struct inspection *in, const struct inspect_level *level);

/* Accepts NULL. */
void inspection_free(struct inspection *in);

/* "unreachable". */
const char *inspect_verdict_name(enum inspect_verdict verdict);
const char *inspect_confidence_name(enum inspect_confidence confidence);

/* A level of a stack for people: function, file and line; strings are owned by the types. */
struct inspect_place {
	const char *function;
	const char *file; /* NULL: unknown */
	uint32_t line;
	bool is_exact; /* false: the line of the function, not of the co_await */
	bool is_initial;
	const char *awaits;            /* type of the awaiter; NULL: unknown */
	const struct rust_place *rust; /* of a task of Tokio; NULL: a C++ coroutine */
};
struct inspect_place inspection_place(struct inspection *in, uint32_t level);

/* The same for a C++ coroutine; !@is_read: the index is not known. */
struct inspect_place inspection_coroutine_place(struct inspection *in, uint32_t type, bool is_read,
						uint32_t index);

#endif

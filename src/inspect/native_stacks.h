/* SPDX-License-Identifier: MIT */
/*
 * native_stacks.h - the native stacks of the threads, and the coroutines that threads run.
 *
 * A stack is unwound from a copy that was made while the thread did not run: it was stopped, or
 * the number of its context switches is the same before and after.
 */
#ifndef INSPECT_NATIVE_STACKS_H
#define INSPECT_NATIVE_STACKS_H

#include "inspect/frame_table.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"
#include "symbols/native_stack.h"
#include "symbols/symbols.h"

struct native_stack {
	struct image_thread thread; /* when the stack was copied */
	uint8_t *bytes;             /* from the stack pointer on; NULL: not copied */
	size_t size;
	struct native_frame *frames; /* innermost first */
	size_t nr_frames;
	bool is_complete; /* it reaches the outermost function */
	int64_t type;     /* coroutine function of the innermost frame that is one; -1: none */
	uint32_t frame;   /* the coroutine; FRAME_NONE: none, or not known which */
};

struct native_stacks {
	struct native_stack *stacks;
	size_t nr;
	struct symbols *symbols;
	struct native_unwinder *unwinder;
	uint32_t pid;
};

/*
 * Copy the stacks of the threads in @image: of a core file, or of a running process whose threads
 * do not run meanwhile.  0 or -ENOMEM.
 */
int native_stacks_copy(struct native_stacks *n, struct process_image *image);

/*
 * Stop the threads, read their registers, and copy their stacks.  0, -ENOMEM, or an error of
 * image_stop_threads().
 */
int native_stacks_stop(struct native_stacks *n, struct process_image *image, struct err *err);

/*
 * Unwind the copies.  Coroutines in @table that threads run become FRAME_RUNNING.  0 or -ENOMEM.
 */
int native_stacks_unwind(struct native_stacks *n, const struct process_image *image,
			 struct coro_types *types, struct frame_table *table);

/* Forget the stacks, and keep what is known of the modules. */
void native_stacks_forget(struct native_stacks *n);

/* NULL: unknown. */
const struct native_stack *native_stacks_find(const struct native_stacks *n, pid_t tid);

void native_stacks_release(struct native_stacks *n);

#endif

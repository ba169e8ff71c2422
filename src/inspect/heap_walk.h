/* SPDX-License-Identifier: MIT */
/*
 * heap_walk.h - is the memory of a frame allocated?  For the malloc of glibc.
 *
 * The memory of a destroyed coroutine can still look like a frame: a freed block that is joined
 * with its neighbour keeps its contents.  The blocks of a heap are walked from its start; if the
 * walk arrives at the end of the heap exactly, every block is known to be in use or free.
 */
#ifndef INSPECT_HEAP_WALK_H
#define INSPECT_HEAP_WALK_H

#include "inspect/frame_table.h"
#include "process/process_image.h"

/*
 * Set the memory of all frames; those in free memory become FRAME_INVALID.  Returns the number of
 * those, or -ENOMEM.
 */
int64_t heap_walk_frames(const struct process_image *image, struct frame_table *table);

#endif

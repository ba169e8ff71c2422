/* SPDX-License-Identifier: MIT */
/*
 * frame_marks.h - which coroutines can still be resumed.
 *
 * Every word of memory outside the frames, and every register that is known, may be a pointer to a
 * frame or into it, with tag bits or without.  What no such word leads to, directly or through
 * frames that can be resumed, can never be resumed.  Old copies of pointers only hide such frames.
 */
#ifndef INSPECT_FRAME_MARKS_H
#define INSPECT_FRAME_MARKS_H

#include "inspect/frame_table.h"
#include "process/process_image.h"

/* @roots: further words, for example those that epoll descriptors hold.  0 or -ENOMEM. */
int frame_marks_set(struct process_image *image, struct frame_table *table, const uint64_t *roots,
		    size_t nr_roots);

#endif

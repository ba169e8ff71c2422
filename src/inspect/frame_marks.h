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

enum mark_depth {
	MARK_WORDS, /* pointers that are aligned: nearly all */
	MARK_BYTES, /* also those that begin at any byte: in packed structs, or shifted by 8 or 16
		       bits */
};

/*
 * @roots: further words, for example those that epoll descriptors hold.  Frames that only doubtful
 * frames lead to are not reached, and `is_doubtful`.  0 or a negative errno of image_visit().
 */
int frame_marks_set(struct process_image *image, struct frame_table *table, enum mark_depth depth,
		    const uint64_t *roots, size_t nr_roots);

#endif

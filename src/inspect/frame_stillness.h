/* SPDX-License-Identifier: MIT */
/*
 * frame_stillness.h - frames that do not change while the threads of the process go on.
 *
 * A thread that waits for a processor may be in the middle of a coroutine, whose frame looks
 * suspended and does not change.  After such a thread has run, the frame has changed.
 */
#ifndef INSPECT_FRAME_STILLNESS_H
#define INSPECT_FRAME_STILLNESS_H

#include "inspect/frame_table.h"
#include "process/process_image.h"

/* All zero: nothing is known, and every frame counts as still. */
struct frame_stillness {
	uint64_t *hashes;  /* of every frame */
	bool is_unsettled; /* a thread got no processor in time */
};

/* Read all frames, and wait until every thread that was ready to run has run.  0 or -ENOMEM. */
int frame_stillness_begin(struct frame_stillness *s, const struct process_image *image,
			  const struct frame_table *table);

/* True if the frame has still the contents that it had; @size must be that of the frame. */
bool frame_stillness_holds(const struct frame_stillness *s, uint32_t number, const uint8_t *bytes,
			   size_t size);

void frame_stillness_release(struct frame_stillness *s);

#endif

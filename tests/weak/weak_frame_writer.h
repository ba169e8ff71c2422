/* SPDX-License-Identifier: MIT */
/* weak_frame_writer.h - the generated code of weak_frames.spec, with its ring in the arena. */
#ifndef WEAK_FRAME_WRITER_H
#define WEAK_FRAME_WRITER_H

#include <stdint.h>

/* A ring of @nr_slots that the program has attached; @block: tickets per thread, 0 for one at a
 * time. */
struct frame_shape {
	unsigned nr_slots, block;
};

void frame_writer_make(const struct frame_shape *shape);
const uint8_t *frame_writer_slots(void);
void *frame_writer_control(void);

/* The calling thread saves a frame of @value and its complement. */
void frame_writer_save(uint32_t value);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * frame_sample.h - frames of a trace for the page: all of them, or evenly spread ones.
 *
 * When there is no more room, every second frame is dropped, and from then on only every second
 * one (fourth, ...) is taken.
 */
#ifndef VIEW_FRAME_SAMPLE_H
#define VIEW_FRAME_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "trace/item.h"

#define VIEW_FRAMES_MAX 8192

struct sampled_frame;

/* All zero: empty. */
struct frame_sample {
	struct sampled_frame *frames;
	size_t nr, room;
	uint64_t of, lost; /* in the trace */
	uint64_t step;     /* every step-th is taken; 0: all */
};

/* 0 or -ENOMEM. */
int frame_sample_add(struct frame_sample *s, const struct trace_frame *f);
void frame_sample_release(struct frame_sample *s);

/* Append the section "frames"; times are relative to @origin.  0 or -ENOMEM. */
int frame_sample_write(const struct frame_sample *s, uint64_t origin, struct bytes *out);

#endif

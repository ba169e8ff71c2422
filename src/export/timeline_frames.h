/* SPDX-License-Identifier: MIT */
/*
 * timeline_frames.h - frames of a trace (`run --frames`) as instants of their coroutines.
 *
 * A reader passes on the frames before the events.  They are kept until the events before them
 * are drawn: only then the track of the coroutine exists.
 */
#ifndef EXPORT_TIMELINE_FRAMES_H
#define EXPORT_TIMELINE_FRAMES_H

#include "export/timeline.h"

/* Keep a frame.  0 or -ENOMEM. */
int timeline_add_frame(struct timeline *tl, const struct trace_frame *f);

/* Draw the frames that were saved before @ts.  0 or -ENOMEM. */
int timeline_draw_frames(struct timeline *tl, uint64_t ts);

void timeline_release_frames(struct timeline *tl);

#endif

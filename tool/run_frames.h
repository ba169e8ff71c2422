/* SPDX-License-Identifier: MIT */
/* run_frames.h - the frames of `run --frames`: options, and their part of the summary. */
#ifndef TOOL_RUN_FRAMES_H
#define TOOL_RUN_FRAMES_H

#include "base/printer.h"
#include "collect/collector.h"

/* Check the options, and look up the counters.  Returns false after a message. */
bool run_frames_check(struct collector_config *config);

void run_frames_text(const struct collector_config *config, const struct frame_totals *t);
void run_frames_json(struct printer *p, const struct frame_totals *t);

#endif

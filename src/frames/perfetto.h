/* SPDX-License-Identifier: MIT */
/*
 * perfetto.h - a recording of frames for ui.perfetto.dev and chrome://tracing.
 *
 * The trace event format (JSON).  An interval of time becomes a slice, with the other
 * members of its frame as its arguments; a frame without one becomes an instant at its
 * first time, and its numbers counters; frames without any time cannot be placed, and
 * are counted.
 */
#ifndef FRAMES_PERFETTO_H
#define FRAMES_PERFETTO_H

#include <stdint.h>

#include "base/err.h"
#include "frames/recfile.h"

struct perfetto_result {
	struct recfile_stats stats;
	uint64_t slices, instants, counters;
	uint64_t without_time;
};

/* @in may be "-", and so may @out. */
int perfetto_export(const char *in, const char *out, struct perfetto_result *result,
		    struct err *err);

#endif

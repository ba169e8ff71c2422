/* SPDX-License-Identifier: MIT */
/*
 * frame_facts.h - the frames of a recording as items of a trace, as `run --frames` writes them.
 *
 * For sinks that write traces: a run, a frame item per frame with its members as a JSON object, the
 * number of lost frames, totals without events.
 */
#ifndef EXPORT_FRAME_FACTS_H
#define EXPORT_FRAME_FACTS_H

#include "export/sink.h"

/* All zero at the begin. */
struct frame_facts {
	char *line;       /* the members of a frame */
	uint64_t last_ts; /* of the frames so far: a frame without a time has it, and is late */
	struct trace_stats stats;
};

/* -EINVAL with a reason: the times of these frames are not those of a trace. */
int frame_facts_begin(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		      struct err *err);
int frame_facts_frame(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		      const struct frame_shown *frame, struct err *err);
int frame_facts_end(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		    struct err *err);
void frame_facts_release(struct frame_facts *f);

#endif

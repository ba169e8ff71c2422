/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - a trace written once more, in another format: what the sinks of traces share.
 *
 * Lanes are made anew, one per thread: how they were numbered does not matter to anybody.
 * Events that came from stations are in no order that could be relied on, nor are those
 * of other tools: they go where the writer puts them in order, as does any event that is
 * earlier than one before it in its lane.
 */
#ifndef EXPORT_REWRITE_H
#define EXPORT_REWRITE_H

#include "base/u64map.h"
#include "export/sink.h"
#include "trace/writer.h"

/* Lanes that are in use at a time: each has a buffer. */
#define REWRITE_LANES 256

struct rewrite {
	struct trace_output output; /* format, fd, path: set by the owner */
	struct trace_writer *writer;
	struct u64map lane_numbers; /* tid to 1 + its number */
	struct trace_lane lanes[REWRITE_LANES];
	uint64_t last_ts[REWRITE_LANES]; /* of their events */
	bool is_ours;                    /* the trace has a run */
	uint64_t pid; /* of the only process; 0: there is none, or there are more */
	uint64_t nr_processes;
	uint64_t newest_ts, horizon_ts, since_horizon, nr_items;
};

/* A failure to write is told within some thousand items. */
int rewrite_item(struct rewrite *r, struct sink_job *job, const struct trace_item *item,
		 struct err *err);

/* Everything out.  That times had to be changed, the note tells. */
int rewrite_finish(struct rewrite *r, struct sink_job *job, struct err *err);

void rewrite_release(struct rewrite *r);

#endif

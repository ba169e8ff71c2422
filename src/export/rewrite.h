/* SPDX-License-Identifier: MIT */
/*
 * rewrite.h - write a trace again in another format: shared by the sinks ctf and jsonl.
 *
 * Lanes are numbered again, one per thread: the original numbers have no meaning for readers.
 * Events of stations and of other tools have no reliable order: they go to the shared stream,
 * where the writer sorts them, as does any event that is earlier than its predecessor in the
 * lane.
 */
#ifndef EXPORT_REWRITE_H
#define EXPORT_REWRITE_H

#include "base/u64map.h"
#include "export/sink.h"
#include "trace/trace_writer.h"

/* Lanes in use at a time: each has a buffer. */
#define REWRITE_LANES 256

struct rewrite {
	struct trace_output output; /* format, fd, path: set by the owner */
	struct trace_writer *writer;
	struct u64map lane_numbers; /* tid to 1 + its number */
	struct trace_lane lanes[REWRITE_LANES];
	uint64_t last_ts[REWRITE_LANES]; /* of their events */
	bool is_ours;                    /* the trace has a run */
	uint64_t pid; /* of the only process; 0: there is none, or there are several */
	uint64_t nr_processes;
	bool is_part;                 /* a filter leaves events out */
	uint64_t transitions, others; /* that were put */
	uint64_t newest_ts, horizon_ts, since_horizon, nr_items;
};

/* A failed write is reported after at most some thousand items. */
int rewrite_item(struct rewrite *r, struct sink_job *job, const struct trace_item *item,
		 struct err *err);

/* Writes everything out.  The note says how many times were changed. */
int rewrite_finish(struct rewrite *r, struct sink_job *job, struct err *err);

void rewrite_release(struct rewrite *r);

#endif

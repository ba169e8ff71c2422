/* SPDX-License-Identifier: MIT */
/*
 * writer.h - a trace being written, in whichever format.
 *
 * Two formats behind one interface
 *   jsonl   transitions as lines that every cTP tool reads, all else in the sidecar
 *           beside it (FILE.meta)
 *   ctf     a directory that babeltrace2 and Trace Compass read, everything inside
 *
 * Lanes
 *   Events arrive by lane: one thread's, in order of time.  A lane is told before its
 *   first event, and again when another thread has taken it over.  Where the format is
 *   one stream (wants_order), whoever calls merges the lanes by time first.
 *
 * What fails
 *   Nothing here fails while it goes on: the first write that fails ends the writing,
 *   what is in the trace stays readable, and from then on transitions are counted as
 *   unwritten.  trace_writer_close() says why.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/event.h"
#include "trace/sidecar.h"
#include "trace/site.h"

enum trace_format { TRACE_FORMAT_AUTO, TRACE_FORMAT_JSONL, TRACE_FORMAT_CTF };

/* The lane of events that came from stations, not from a thread's lane. */
#define TRACE_LANE_STATIONS UINT32_MAX

struct trace_lane {
	uint32_t number;
	uint32_t pid;
	uint64_t tid;
};

struct trace_writer;

/* What "trace.ctf", "dir/" or "trace.jsonl" asks for. */
enum trace_format trace_format_of(const char *path);

void trace_put_lane(struct trace_writer *w, const struct trace_lane *lane);
void trace_put_event(struct trace_writer *w, uint32_t lane, const struct trace_event *ev);

/* So many transitions and other events of a lane are missing here, between these times. */
void trace_put_gap(struct trace_writer *w, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		   uint64_t transitions, uint64_t others);

void trace_put_site(struct trace_writer *w, const struct trace_site *site);
void trace_put_process(struct trace_writer *w, const struct sidecar_process *process);
/* A coroutine that stood in a station, or one that was still there at the end of the run. */
void trace_put_coroutine(struct trace_writer *w, const struct sidecar_coroutine *coroutine);
void trace_put_totals(struct trace_writer *w, const struct sidecar_totals *totals);

/* Everything so far out to the files, whole: others may be reading. */
void trace_flush(struct trace_writer *w);

#endif

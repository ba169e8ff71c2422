/* SPDX-License-Identifier: MIT */
/* region_join.h - the trace of a killed collector, followed by the rest of its region. */
#ifndef COLLECT_REGION_JOIN_H
#define COLLECT_REGION_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "collect/region_copy.h"
#include "collect/journal.h"
#include "trace/trace_writer.h"

/* State of the trace's events, for appending those of the region.  All zero: no trace. */
struct join {
	bool active;
	bool has_run;
	uint64_t transitions, others; /* taken from the trace */
	struct u64map last_ts;        /* by thread: time of its last event */
	struct u64map gaps;           /* by thread: lost transitions that the trace reports */
	struct u64map stations;       /* events in the region's stations: 2 if in the trace */
	struct u64map sites, pids;    /* in the trace */
	/* Events of the lane whose packet was cut: in the trace, beyond the last save. */
	uint64_t cut_transitions, cut_others;
	bool short_of_memory;
};

/*
 * Copy the trace that @journal names to @writer, up to its last save.  The functions below
 * exclude those events of the region that the trace contains.
 */
int join_trace(struct join *j, const struct journal_copy *journal, const struct image *image,
	       struct trace_writer *writer, struct err *err);
void join_release(struct join *j);

/* Time of an event of the region: not before the last event of its thread in the trace. */
uint64_t join_time(const struct join *j, const struct trace_event *ev);

/* True if the trace contains this station event. */
bool join_has_station_event(const struct join *j, const struct trace_event *ev);

/* True if the next event of @lane belongs to a cut packet and is in the trace nevertheless. */
bool join_has_cut_event(struct join *j, const struct journal_copy *journal, uint32_t lane,
			bool transition);

/* Of @transitions that thread @tid lost, those that the trace does not report. */
uint64_t join_untold(struct join *j, uint64_t tid, uint64_t transitions);

#endif

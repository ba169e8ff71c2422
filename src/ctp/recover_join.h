/* SPDX-License-Identifier: MIT */
/* recover_join.h - the trace of a killed collector, put in front of what its region still has. */
#ifndef CTP_RECOVER_JOIN_H
#define CTP_RECOVER_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "ctp/image.h"
#include "ctp/journal.h"
#include "trace/writer.h"

/* What is to be known of the trace's events when those of the region follow.  All zero: none. */
struct join {
	bool active;
	bool has_run;
	uint64_t transitions, others; /* taken from the trace */
	struct u64map last_ts;        /* by thread: of its last event */
	struct u64map gaps;           /* by thread: transitions that it is told to have lost */
	struct u64map stations;       /* events in the region's stations: 2 if in the trace */
	struct u64map sites, pids;    /* that were told */
	/* Events of the lane whose packet was cut: they are in the trace beyond the last save. */
	uint64_t cut_transitions, cut_others;
	bool short_of_memory;
};

/*
 * Copy the trace that @journal names into @writer, as far as its last save goes.  What of it
 * the region has too is left out of the region's part: see below.
 */
int join_trace(struct join *j, const struct journal_copy *journal, const struct image *image,
	       struct trace_writer *writer, struct err *err);
void join_release(struct join *j);

/* The time of an event of the region: not before its thread's last one in the trace. */
uint64_t join_time(const struct join *j, const struct trace_event *ev);

/* Is this event of a station in the trace already? */
bool join_has_station_event(const struct join *j, const struct trace_event *ev);

/* Is the next event of @lane one of a packet that was cut, which the trace has all the same? */
bool join_has_cut_event(struct join *j, const struct journal_copy *journal, uint32_t lane,
			bool transition);

/* Of @transitions that thread @tid lost, those that the trace does not tell. */
uint64_t join_untold(struct join *j, uint64_t tid, uint64_t transitions);

#endif

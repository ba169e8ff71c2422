/* SPDX-License-Identifier: MIT */
/*
 * lane_record.h - from lanes and lives to the record: what the trace is told of them.
 *
 * Nothing is kept per coroutine.  A birth and an end are events like others; of those
 * that have not ended their lives tell, at the end of the run or of their process.
 */
#ifndef CTP_LANE_RECORD_H
#define CTP_LANE_RECORD_H

#include "ctp/drain.h"
#include "ctp/journal.h"
#include "ctp/lives.h"
#include "ctp/record.h"
#include "ctp/worst.h"

struct lane_record {
	struct drain_sink sink;
	struct drain drain;
	struct journal journal;
	struct record *record;
	struct lanes *lanes;
	struct tickclock *clock;
	struct worst worst;  /* coroutines that lost the most */
	uint64_t unreported; /* ends that found no room in a lane, found in a life */
};

int lane_record_open(struct lane_record *l, struct record *record, struct lanes *lanes,
		     struct tickclock *clock, struct err *err);
void lane_record_close(struct lane_record *l);

/*
 * Keep account beside @region of what is in @trace, for who finds the region when we were
 * killed.  Without memory for it there is none.
 */
void lane_record_keep_journal(struct lane_record *l, const char *region, const char *trace,
			      enum trace_format format);

/* A process is gone: tell of its coroutines, and let others have what it had. */
void lane_record_bury(struct lane_record *l, uint32_t pid);

/* The run is over: take the rest, tell of all coroutines that are still there. */
void lane_record_finish(struct lane_record *l);

/* A life as the trace tells it; @sites: the places that the trace tells. */
void life_describe(const struct life *life, const struct tickclock *clock,
		   const struct site_table *sites, struct sidecar_coroutine *out);

#endif

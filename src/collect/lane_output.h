/* SPDX-License-Identifier: MIT */
/*
 * lane_output.h - write events of lanes and descriptions of coroutines to the trace.
 *
 * Nothing is stored per coroutine.  Create and end are events like others; coroutines that have
 * not ended are described from the region (struct ctp_life), at the end of the run or of their
 * process.
 */
#ifndef COLLECT_LANE_OUTPUT_H
#define COLLECT_LANE_OUTPUT_H

#include "collect/frame_owners.h"
#include "collect/lane_scan.h"
#include "collect/coro_cpu.h"
#include "collect/journal.h"
#include "collect/coroutine_table.h"
#include "collect/trace_output.h"
#include "base/top_n.h"

struct lane_record {
	struct drain_sink sink;
	struct drain drain;
	struct journal journal;
	struct record *record;
	struct lanes *lanes;
	struct tickclock *clock;
	struct frame_owners owners; /* with `run --frames` */
	struct worst worst;         /* coroutines with the most lost events */
	struct coro_cpu *cpu;       /* NULL: processor time is not measured */
	/* Where a coroutine waits that has not said it; NULL: not asked (collector.h). */
	bool (*await_of)(const struct sidecar_coroutine *coroutine, struct trace_site *site);
	uint32_t nr_awaits;  /* sites that only await_of knew */
	bool discards;       /* events are only counted: a signal ended the drain */
	uint64_t unreported; /* ended coroutines whose end event was lost, found in a ctp_life */
};

int lane_record_open(struct lane_record *l, struct record *record, struct lanes *lanes,
		     struct tickclock *clock, struct err *err);
void lane_record_close(struct lane_record *l);

/*
 * Keep a journal of what is in @trace (REGION.saved), for recovery after the collector was
 * killed.  Without memory for it there is no journal.
 */
void lane_record_keep_journal(struct lane_record *l, const char *region, const char *trace,
			      enum trace_format format);

/* A process has ended: describe its coroutines in the trace and release its lanes and lives. */
void lane_record_bury(struct lane_record *l, uint32_t pid);

/* The run is over: drain the lanes and describe all coroutines that have not ended. */
/*
 * Read everything that is left.  @goes_on is called now and then with the number of events that
 * were read and that there are; after it returned false, events are only counted, as not written.
 */
typedef bool lane_record_goes_on(void *ctx, uint64_t done, uint64_t all);
void lane_record_finish(struct lane_record *l, lane_record_goes_on *goes_on, void *ctx);

/* Describe a coroutine for the trace; @sites: the sites in the trace. */
void life_describe(const struct life *life, const struct tickclock *clock,
		   const struct site_table *sites, struct sidecar_coroutine *out);

#endif

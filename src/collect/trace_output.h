/* SPDX-License-Identifier: MIT */
/*
 * trace_output.h - write a run to a trace: events, and the description of the run.
 *
 * When writing fails (disk full), the trace stays valid up to there, the run continues, and the
 * rest is counted as lost.
 */
#ifndef COLLECT_TRACE_OUTPUT_H
#define COLLECT_TRACE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/collector.h"
#include "collect/wake_socket.h"
#include "collect/flight_recorder.h"
#include "collect/station_scan.h"
#include "collect/output_path.h"
#include "trace/trace_writer.h"

struct record {
	const struct collector_config *config;
	struct output_path place;
	struct trace_writer *writer; /* NULL: closed */
	struct flight flight;        /* the writer, with a flight recorder */
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	uint32_t nr_processes; /* processes of the endpoint that are in the trace */
	size_t nr_modules;     /* likewise for modules */
	bool has_run;
};

int record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		struct err *err);
void record_close(struct record *r);

/* The run could not start: undo record_open(). */
void record_undo(struct record *r);

/* The program runs as @pid (0: no program): write the description of the run. */
void record_start(struct record *r, uint64_t pid);

/* True if the events of all lanes must be delivered in one time order. */
static inline bool record_wants_order(const struct record *r)
{
	return r->writer->wants_order;
}

static inline void record_lane(struct record *r, const struct trace_lane *lane)
{
	trace_put_lane(r->writer, lane);
}

static inline void record_event(struct record *r, uint32_t lane, const struct trace_event *event)
{
	trace_put_event(r->writer, lane, event);
}

static inline void record_gap(struct record *r, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
			      uint64_t transitions, uint64_t others)
{
	trace_put_gap(r->writer, lane, from_ts, to_ts, transitions, others);
}

static inline void record_site(struct record *r, const struct trace_site *site)
{
	trace_put_site(r->writer, site);
}

/* Describe a coroutine that has not ended at the end of the run.  Call before record_finish(). */
static inline void record_coroutine(struct record *r, const struct sidecar_coroutine *coroutine)
{
	trace_put_coroutine(r->writer, coroutine);
}

/* A harvest_sink for station events: @ctx is the record. */
void record_station_event(void *ctx, const struct trace_event *event);

/* A scan of all stations and lanes that began at @start_ns is complete: see trace_put_horizon(). */
static inline void record_scanned(struct record *r, uint64_t start_ns)
{
	trace_put_horizon(r->writer, start_ns);
}

/* Write the processes that connected since the last call. */
void record_processes(struct record *r, const struct endpoint *e);

static inline void record_flush(struct record *r)
{
	trace_flush(r->writer);
}

/*
 * The run is over: describe the coroutines in stations, fill in the file results of @result,
 * close the trace.
 */
void record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
		   struct collector_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * record.h - what of a run becomes a trace: events, and the facts around them.
 *
 * When the trace takes no more (disk full), what is in it stays whole, the run goes on,
 * and the rest is counted as lost.
 */
#ifndef CTP_RECORD_H
#define CTP_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/collector.h"
#include "ctp/endpoint.h"
#include "ctp/flight.h"
#include "ctp/harvest.h"
#include "ctp/place.h"
#include "trace/writer.h"

struct record {
	const struct collector_config *config;
	struct place place;
	struct trace_writer *writer; /* NULL: closed */
	struct flight flight;        /* the writer, where nothing is written while it runs */
	uint64_t start_ns;
	uint64_t start_realtime_ns;
	uint32_t nr_processes; /* of the endpoint, that were told */
	size_t nr_modules;     /* likewise */
	bool has_run;
};

int record_open(struct record *r, const struct collector_config *config, uint64_t start_ns,
		struct err *err);
void record_close(struct record *r);

/* There was no run after all: as if record_open() had never been. */
void record_undo(struct record *r);

/* The program runs, as @pid (0: there is none): what the trace says first. */
void record_start(struct record *r, uint64_t pid);

/* Do the events of all lanes have to come in one order of time? */
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

/* One that is still there at the end of the run.  Before record_finish(). */
static inline void record_coroutine(struct record *r, const struct sidecar_coroutine *coroutine)
{
	trace_put_coroutine(r->writer, coroutine);
}

/* A harvest_sink, for events of stations: @ctx is the record. */
void record_station_event(void *ctx, const struct trace_event *event);

/* A scan of all stations and lanes that began at @start_ns is over: see trace_put_horizon(). */
static inline void record_scanned(struct record *r, uint64_t start_ns)
{
	trace_put_horizon(r->writer, start_ns);
}

/* Whoever has connected since the last call. */
void record_processes(struct record *r, const struct endpoint *e);

static inline void record_flush(struct record *r)
{
	trace_flush(r->writer);
}

/*
 * The run is over: tell of the coroutines in stations, fill in what became of it all in
 * @result, close the trace.
 */
void record_finish(struct record *r, const struct harvest *h, const struct endpoint *e,
		   struct collector_result *result);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * flight.h - the newest events of a run, in memory: a flight recorder.
 *
 * To the collector it is a trace being written (writer.h); it just goes nowhere, until
 * somebody asks for what is in it (snapshot.h).
 *
 * Events are kept as they come, packed: fields as differences to the event before, a
 * transition in some ten bytes.  The memory is a ring of segments, each of which can be
 * read by itself; the oldest is forgotten whole when room is needed, and what was in it
 * is counted.  Forgotten is not lost: it was collected, and let go on purpose.
 *
 * A birth is not forgotten as long as the coroutine can still be met: not before its
 * end is.  So everything in the recorder has a name (births.h; bounded, too).
 */
#ifndef CTP_FLIGHT_H
#define CTP_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/births.h"
#include "trace/event.h"
#include "trace/writer.h"

#define FLIGHT_LEAST   UINT64_C(65536)
#define FLIGHT_HIGHEST (UINT64_C(1) << 40)

/* One stretch of the ring, and what is in it. */
struct flight_segment {
	uint64_t transitions, others;
	uint32_t used;  /* bytes */
	bool has_lives; /* births or ends */
};

/* What the next entry is a difference to. */
struct flight_state {
	uint64_t ts, id, addr, seq, tid;
	uint32_t lane;
};

/* Who writes a lane, and the segment that last said so. */
struct flight_lane {
	uint64_t tid;
	uint32_t pid;
	uint64_t told; /* 1 + number of the segment */
};

struct flight_totals {
	uint64_t transitions, others; /* in the recorder */
	uint64_t forgotten, forgotten_others;
};

struct flight {
	struct trace_writer writer; /* first: one is the other */
	char *ring;
	uint64_t size;
	uint64_t segment_size;
	uint32_t nr_segments;
	struct flight_segment *segments;
	uint64_t head; /* number of the segment being filled; head % nr_segments is its place */
	struct flight_segment *current;
	char *start; /* of it, in the ring */
	struct flight_state state;
	struct flight_lane *lanes;
	uint32_t nr_lanes;
	bool has_stations; /* an event of a station came since */
	struct births births;
	struct trace_site *sites; /* all that were told */
	uint32_t nr_sites;
	bool finishing; /* the run is over: coroutines that are left are the snapshot's to tell */
	struct flight_totals totals;
};

/* @size bytes are used for events at most; memory is taken as it fills. */
int flight_open(struct flight *f, uint64_t size, struct err *err);
void flight_close(struct flight *f);

struct flight_sink {
	void (*lane)(void *ctx, const struct trace_lane *lane);
	void (*event)(void *ctx, uint32_t lane, const struct trace_event *ev);
	void (*gap)(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		    uint64_t transitions, uint64_t others);
	void (*horizon)(void *ctx, uint64_t ts);
	void (*coroutine)(void *ctx, const struct sidecar_coroutine *coroutine);
};

/* Everything, in the order it came; the births that were kept come first.  -ENOMEM, before any. */
int flight_replay(const struct flight *f, const struct flight_sink *sink, void *ctx,
		  struct err *err);

/* Bytes that hold events now. */
uint64_t flight_used(const struct flight *f);

#endif

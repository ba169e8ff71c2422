/* SPDX-License-Identifier: MIT */
/*
 * flight_recorder.h - flight recorder: the newest events of a run, in memory.
 *
 * The collector uses it as a trace writer (writer.h) that writes no file; a snapshot
 * (snapshot.h) writes its contents on request.
 *
 * Events are stored in order of arrival, packed: fields as differences to the event before, a
 * transition in about ten bytes.  The memory is a ring of segments, each readable on its own;
 * when room is needed, the oldest segment is discarded as a whole and its events are counted as
 * forgotten.  Forgotten events are not lost: they were collected and discarded on purpose.
 *
 * Facts of the kernel (processor time, context switches, descriptors) are stored between the
 * events, and discarded with them.
 *
 * The create event of a coroutine is kept until the coroutine's last event is discarded, so
 * that every coroutine in the recorder has a name (birth_table.h, also bounded).
 */
#ifndef COLLECT_FLIGHT_RECORDER_H
#define COLLECT_FLIGHT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/birth_table.h"
#include "trace/event.h"
#include "trace/trace_writer.h"

#define FLIGHT_LEAST    UINT64_C(65536)
#define FLIGHT_HIGHEST  (UINT64_C(1) << 40)

#define FLIGHT_RECORDED 64 /* processes whose context switches are recorded */

/* One segment of the ring and its counts. */
struct flight_segment {
	uint64_t transitions, others, facts;
	uint32_t used;  /* in bytes */
	bool has_lives; /* create, end or destroy events */
};

/* The values to which the next entry stores differences. */
struct flight_state {
	uint64_t ts, id, addr, seq, tid;
	uint32_t lane;
};

/* The thread of a lane, and the last segment that stored it. */
struct flight_lane {
	uint64_t tid;
	uint32_t pid;
	uint64_t told; /* 1 + number of the segment; 0: no segment yet */
};

struct flight_totals {
	uint64_t transitions, others; /* in the recorder */
	uint64_t forgotten, forgotten_others;
	/* Of threads, descriptors and frames: in the recorder, discarded, too large for a segment.
	 */
	uint64_t facts, forgotten_facts, refused_facts;
};

struct flight {
	struct trace_writer writer; /* first member: flight_of() casts the writer */
	char *ring;
	uint64_t size;
	uint64_t segment_size;
	uint32_t nr_segments;
	struct flight_segment *segments;
	uint64_t head; /* number of the segment being filled; its index is head % nr_segments */
	struct flight_segment *current;
	char *start; /* of the current segment, in the ring */
	struct flight_state state;
	struct flight_lane *lanes;
	uint32_t nr_lanes;
	bool has_stations; /* a station event was added since the last horizon */
	struct births births;
	struct trace_site *sites; /* all reported sites */
	uint32_t nr_sites;
	/* Since when context switches and wake-ups are recorded, by process: never discarded. */
	struct trace_switch recorded[FLIGHT_RECORDED];
	uint32_t nr_recorded;
	bool finishing; /* the run is over: the snapshot reports the remaining coroutines itself */
	struct flight_totals totals;
};

/* Use at most @size bytes for events; memory is allocated as the ring fills. */
int flight_open(struct flight *f, uint64_t size, struct err *err);
void flight_close(struct flight *f);

struct flight_sink {
	void (*lane)(void *ctx, const struct trace_lane *lane);
	void (*event)(void *ctx, uint32_t lane, const struct trace_event *ev);
	void (*gap)(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		    uint64_t transitions, uint64_t others);
	void (*horizon)(void *ctx, uint64_t ts);
	void (*coroutine)(void *ctx, const struct sidecar_coroutine *coroutine);
	/* What the kernel said of threads and descriptors, and later kinds of facts. */
	void (*fact)(void *ctx, const struct trace_item *fact);
};

/*
 * Deliver everything in order of arrival; create events that were kept come first.  Returns
 * -ENOMEM before the first delivery.
 */
int flight_replay(const struct flight *f, const struct flight_sink *sink, void *ctx,
		  struct err *err);

/* Bytes in use for events. */
uint64_t flight_used(const struct flight *f);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * station_scan.h - read the events that programs write into stations, and count what is lost.
 *
 * A cursor per station holds the number of the next event.  The seq in that event's slot is the
 * expected one (take the event), smaller (not written yet) or larger (overwritten: the
 * difference gives the number of lost events).  So events are delivered in order, an idle
 * station costs one access to one cache line, and written = collected + lost holds for every
 * station at any time.
 *
 * Two kinds of cTP writers are supported, distinguished by the first slots that they write: a
 * seq per slot, odd while writing (WRITER_SEED_002), and one seq per station, stored once at
 * the end of an event (WRITER_SEED_000).
 *
 * Trust
 *   Stations are written by untrusted programs.  Every field is read once; a seq is accepted
 *   only if its station can have written that many events since the region exists; what cannot
 *   be an event is counted as corrupt and skipped.  No value in a station makes a scan take
 *   longer than reading it.
 */
#ifndef COLLECT_STATION_SCAN_H
#define COLLECT_STATION_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corotracer/ctp.h>

#include "base/err.h"
#include "base/u64map.h"
#include "trace/event.h"
#include "trace/item.h"

enum harvest_writer {
	WRITER_UNKNOWN,    /* nothing written yet */
	WRITER_COROTRACER, /* an SDK of corotracer: a seq per slot, with a correct seqlock */
	WRITER_SEED_002,
	WRITER_SEED_000,
	NR_WRITERS,
};

const char *harvest_writer_name(enum harvest_writer w);

/* The collector's state of one station.  Private memory. */
struct cursor {
	uint64_t next; /* number of the next event, from 0; all before it are accounted for */
	uint64_t lost;
	uint64_t probe_id; /* as read with the first event */
	uint64_t junk_seq; /* the last corrupt seq, to count each once */
	uint32_t garbage;
	uint32_t doubt_ms; /* since when the slot may be being overwritten; 0: not in doubt */
	uint8_t writer;    /* enum harvest_writer */
	uint8_t shares_id; /* another station has the same probe_id */
};

struct harvest_totals {
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t garbage;    /* corrupt slots */
	uint64_t unfinished; /* writes begun and not completed at the end of the run */
	uint64_t coroutines;
	uint64_t without_station;
	uint32_t writers[NR_WRITERS]; /* stations by kind of writer */
};

/* Result of one scan. */
struct harvest_scan {
	uint64_t events;
	uint64_t lost;
	uint32_t deepest;     /* most events waiting in one station */
	uint32_t pending;     /* stations with an event that could not be taken yet */
	uint64_t lane_events; /* of the events, those from lanes, which hold more than eight */
};

typedef void harvest_sink(void *ctx, const struct trace_event *event);

struct harvest {
	struct ctp_header *header;          /* [shared] */
	const struct ctp_station *stations; /* [shared] */
	uint32_t nr_stations;
	uint32_t nr_claimed;    /* highest number of claimed stations; never decreases */
	uint32_t last_count;    /* last plausible count of claims */
	uint64_t last_count_ns; /* and its time */
	uint64_t start_ns;
	uint64_t now_ns; /* start of the current scan */
	struct cursor *cursors;
	struct u64map ids;        /* probe_id to the first station with it */
	struct trace_event event; /* being delivered; fields without a value stay initialized */
	harvest_sink *sink;
	void *sink_ctx;
	/*
	 * A coroutine of a lane may have an id below this, too: report the station to
	 * distinguish them.
	 */
	uint64_t lane_ids_below;
	bool wild_count; /* allocated_count was corrupt */
	bool last;       /* all writers have ended: nothing is deferred any more */
	struct harvest_totals totals;
};

/*
 * @header and @stations must stay mapped; @nr_stations is the collector's number, not the
 * header's.
 */
int harvest_open(struct harvest *h, struct ctp_header *header, const struct ctp_station *stations,
		 uint32_t nr_stations, harvest_sink *sink, void *ctx, struct err *err);
void harvest_close(struct harvest *h);

/* Take the available events of every claimed station. */
void harvest_scan(struct harvest *h, struct harvest_scan *out);

/* All writers have ended: take the rest, count unfinished writes. */
void harvest_finish(struct harvest *h);

/* A coroutine as described by its station, for the sidecar. */
struct harvest_coroutine {
	uint32_t station;
	uint64_t probe_id;
	uint64_t birth_ts;
	uint64_t death_ts; /* 0: not ended, or unknown */
	bool dead;
	uint32_t pid;       /* 0: unknown */
	const char *writer; /* harvest_writer_name() */
	bool name_truncated;
	char name[CTP_EXT_NAME_SIZE + 1];
	uint64_t written, collected, lost, garbage;
};

/* False if station @i was never used. */
bool harvest_describe(const struct harvest *h, uint32_t i, struct harvest_coroutine *out);

/* Convert to the form of the trace; @out refers to the strings of @co. */
void harvest_tell(const struct harvest_coroutine *co, struct sidecar_coroutine *out);

#endif

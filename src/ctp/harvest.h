/* SPDX-License-Identifier: MIT */
/*
 * harvest.h - read what programs write into the stations, and know what was missed.
 *
 * A cursor per station says which event comes next.  The slot it lies in tells the
 * rest: its seq is the one expected (take the event), smaller (not written yet) or
 * larger (overwritten: so many are lost).  So events come out in order, an idle
 * station costs one look at one cache line, and written = collected + lost holds
 * for every station at any time.
 *
 * Two disciplines are understood, told apart by the first slots a station writes:
 * seed 002's (a seq per slot, odd while writing) and seed 000's (one seq per
 * station, stored once at the end).
 *
 * Trust
 *   Stations are written by programs we know nothing of.  Every field is read once;
 *   a seq is believed only if its station can have written that many events since
 *   the region exists; what cannot be an event is counted as garbage and left out.
 *   No value in a station makes a scan take longer than reading it.
 */
#ifndef CTP_HARVEST_H
#define CTP_HARVEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corotracer/ctp.h>

#include "base/err.h"
#include "base/u64map.h"
#include "trace/event.h"
#include "trace/item.h"

enum harvest_writer {
	WRITER_UNKNOWN,    /* has not written yet */
	WRITER_COROTRACER, /* an SDK of ours: seed 002's discipline, with a real seqlock */
	WRITER_SEED_002,
	WRITER_SEED_000,
	NR_WRITERS,
};

const char *harvest_writer_name(enum harvest_writer w);

/* What we know of one station.  Private memory: nobody else writes it. */
struct cursor {
	uint64_t next; /* number of the next event, from 0; all before it are accounted for */
	uint64_t lost;
	uint64_t probe_id; /* as read with the first event */
	uint64_t junk_seq; /* the last unbelievable seq, so that one is counted once */
	uint32_t garbage;
	uint32_t doubt_ms; /* since when the slot may be being overwritten; 0: no doubt */
	uint8_t writer;    /* enum harvest_writer */
	uint8_t shares_id; /* another station has the same probe_id */
};

struct harvest_totals {
	uint64_t written;
	uint64_t collected;
	uint64_t lost;
	uint64_t garbage;    /* slot contents that cannot be events */
	uint64_t unfinished; /* writes begun and never ended, at the end of the run */
	uint64_t coroutines;
	uint64_t without_station;
	uint32_t writers[NR_WRITERS]; /* stations by who wrote them */
};

/* What one scan came upon. */
struct harvest_scan {
	uint64_t events;
	uint64_t lost;
	uint32_t deepest;     /* most events found waiting in one station */
	uint32_t pending;     /* stations with something that could not be taken yet */
	uint64_t lane_events; /* of the events, those from lanes: they hold more than eight */
};

typedef void harvest_sink(void *ctx, const struct trace_event *event);

struct harvest {
	struct ctp_header *header;          /* [shared] */
	const struct ctp_station *stations; /* [shared] */
	uint32_t nr_stations;
	uint32_t nr_claimed;    /* as many as ever claimed; never goes down */
	uint32_t last_count;    /* of claims, as last believed, */
	uint64_t last_count_ns; /* then */
	uint64_t start_ns;
	uint64_t now_ns; /* when the current scan began */
	struct cursor *cursors;
	struct u64map ids;        /* probe_id to the first station that had it */
	struct trace_event event; /* handed on; what stations do not tell stays as it was set up */
	harvest_sink *sink;
	void *sink_ctx;
	/* A coroutine of a lane may have such an id, too: the station tells them apart. */
	uint64_t lane_ids_below;
	bool wild_count; /* allocated_count was not to be believed */
	bool last;       /* the writers are gone: nothing is deferred any more */
	struct harvest_totals totals;
};

/* @header and @stations must stay mapped; @nr_stations is ours, not the header's word. */
int harvest_open(struct harvest *h, struct ctp_header *header, const struct ctp_station *stations,
		 uint32_t nr_stations, harvest_sink *sink, void *ctx, struct err *err);
void harvest_close(struct harvest *h);

/* Take what is there from every claimed station. */
void harvest_scan(struct harvest *h, struct harvest_scan *out);

/* The writers are gone: take the rest, count what they left half done. */
void harvest_finish(struct harvest *h);

/* A coroutine as its station describes it, for the sidecar. */
struct harvest_coroutine {
	uint32_t station;
	uint64_t probe_id;
	uint64_t birth_ts;
	uint64_t death_ts; /* 0: alive, or not told */
	bool dead;
	uint32_t pid;       /* 0: not told */
	const char *writer; /* harvest_writer_name() */
	bool name_truncated;
	char name[CTP_EXT_NAME_SIZE + 1];
	uint64_t written, collected, lost, garbage;
};

/* False when station @i was never used. */
bool harvest_describe(const struct harvest *h, uint32_t i, struct harvest_coroutine *out);

/* The same as a trace tells it; @out has the strings of @co. */
void harvest_tell(const struct harvest_coroutine *co, struct sidecar_coroutine *out);

#endif

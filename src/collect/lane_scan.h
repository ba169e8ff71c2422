/* SPDX-License-Identifier: MIT */
/*
 * lane_scan.h - read the events that threads write into their lanes.
 *
 * Each poll has a time limit, the newest mark of the clock: events up to the limit are taken,
 * later events wait for the next poll.  So events can be ordered across lanes if the trace
 * wants that.  Events of one coroutine are always in order, because a thread that continues a
 * coroutine has seen its last event published.  Events of different coroutines are in order
 * unless their threads were preempted between reading the counter and publishing.
 *
 * A poll costs time proportional to the records written since the last one, plus one cache line
 * per lane.
 *
 * Trust
 *   Lanes are written by untrusted programs.  A record is copied once; chunk numbers are
 *   checked, and no chunk can be in two lanes; a lane that violates the protocol is marked
 *   broken and not read any further.
 */
#ifndef COLLECT_LANE_SCAN_H
#define COLLECT_LANE_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/lane_memory.h"
#include "collect/tickclock.h"
#include "trace/event.h"
#include "trace/trace_site.h"
#include "trace/trace_writer.h"

/* Receives what the drain reads. */
struct drain_sink {
	bool ordered; /* deliver events of all lanes in one time order */
	void (*lane)(void *ctx, const struct trace_lane *lane);
	void (*event)(void *ctx, uint32_t lane, const struct trace_event *ev);
	void (*gap)(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		    uint64_t transitions, uint64_t others);
	void (*site)(void *ctx, const struct trace_site *site);
	/*
	 * With drain.saves: memory is short, write everything delivered so far to the files.
	 * May be NULL.
	 */
	void (*save)(void *ctx);
	/*
	 * With drain.saves: the lane is free for another thread; its record numbers restart at
	 * 0.
	 */
	void (*freed)(void *ctx, uint32_t lane);
};

struct drain_totals {
	uint64_t transitions; /* read */
	uint64_t marks;       /* create, wake, end and other non-transition events, read */
	uint64_t lost;        /* transitions for which the lane had no room */
	uint64_t lost_marks;
	uint64_t homeless; /* transitions of threads that got no lane */
	uint64_t homeless_marks;
	uint64_t garbage; /* corrupt records */
	uint64_t kinds[NR_TRACE_KINDS];
	uint64_t coroutines; /* ever created */
	uint64_t unborn;     /* coroutines without room in the region */
	uint64_t untraced;   /* of homeless: written before their program had connected */
	uint64_t later;      /* coroutines created before that and never traced */
	uint64_t lost_sites; /* sites without room in the region */
	uint64_t blocked_ns;
	uint64_t blocked;
	uint32_t broken; /* lanes that violate the protocol */
	uint32_t lanes;  /* lanes opened or taken over: threads that wrote */
};

/* The collector's state of one lane.  Private memory. */
struct drain_lane {
	bool open, broken, orphan;
	uint32_t pid;
	uint64_t tid;
	uint32_t ticks;   /* CTP_TICKS_* */
	uint32_t chunk;   /* the chunk being read */
	uint32_t at;      /* index of the next record in it */
	bool dirty;       /* in the list of lanes with unsaved events */
	uint32_t oldest;  /* the first chunk that was not given back */
	uint32_t nr_held; /* chunks from oldest on, without the one being read */
	uint32_t returned;
	uint64_t head;  /* records written, as of this poll */
	uint64_t read;  /* records read */
	uint64_t saved; /* records in the trace's files, with drain.saves */
	uint64_t next;  /* time of the next event, if there is one */
	uint64_t last;  /* time of the last event: times within a lane never decrease */
	uint64_t lost, lost_marks, blocked_ns;
	uint32_t blocked;
	uint64_t told_lost, told_marks;         /* of these, reported as gaps */
	uint64_t gap_from, gap_lost, gap_marks; /* a gap to report with the next event */
	struct ctp_record rec;                  /* the next event, as read */
};

/* Events that a poll takes at most when the writers have ended: a user who is done waiting is
 * heard. */
#define DRAIN_LAST (UINT64_C(1) << 16)

/* Maximum number of sites that are registered but not complete. */
#define DRAIN_SKIPPED 64u

struct drain {
	struct lanes *lanes;
	struct tickclock *clock;
	const struct drain_sink *sink;
	void *ctx;
	struct drain_lane *cursors; /* by lane */
	uint32_t nr_cursors;
	uint32_t nr_open; /* lanes in use by threads, as of the last poll */
	uint32_t room;
	uint32_t *heap; /* min-heap of lanes with an event, by time */
	uint32_t nr_heap;
	uint32_t *owner; /* by chunk: 1 + number of its lane */
	uint32_t *after; /* by chunk of a lane: the next chunk */
	/*
	 * Give chunks and lanes back only once their events are in the trace's files: if the
	 * collector is killed, every event is either in the files or in the region (journal.h).
	 */
	bool saves;
	uint32_t *dirty; /* lanes with unsaved events; may also list saved ones */
	uint32_t nr_dirty;
	uint64_t left_lost, left_lost_marks; /* losses of lanes that were given back */
	uint32_t sites_seen;                 /* reported, or in skipped[] */
	uint32_t skipped[DRAIN_SKIPPED], nr_skipped;
	struct site_table sites; /* reported sites, each once */
	uint64_t wild[8];        /* corrupt values of the region's counters, as last seen */
	uint64_t start_ns;
	uint64_t first_ns, first_ticks; /* no event is older */
	uint64_t limit_ticks, limit_ns; /* time limit of this poll */
	uint64_t moment_ticks;
	uint64_t may_take;        /* number of events this poll may still take */
	uint32_t turn;            /* lane by lane: the lane to continue with */
	struct tick_mark stretch; /* current interval between two marks of the clock: its start */
	uint64_t stretch_ticks;   /* and its length */
	uint64_t end_ns;          /* end of the run, or 0 while unknown: no gap extends beyond */
	bool last;                /* all writers have ended: events do not wait for a next poll */
	bool ahead;               /* then also events of threads that outran a slow counter */
	bool in_parts;            /* then at most DRAIN_LAST at a time; otherwise all of them */
	bool detached;            /* writers go on: what they write later is not part of the run */
	struct trace_event event; /* the event being delivered */
	char name[CTP_EXT_NAME_SIZE + CTP_TEXT_SIZE];
	struct drain_totals totals;
};

/* Result of one poll. */
struct drain_look {
	uint64_t events; /* of all kinds */
	uint64_t lost;
	uint64_t left; /* records available and not taken */
	bool cut;      /* some of these are older than the poll's time limit */
};

int drain_open(struct drain *d, struct lanes *lanes, struct tickclock *clock,
	       const struct drain_sink *sink, void *ctx, struct err *err);
void drain_close(struct drain *d);

void drain_look(struct drain *d, struct drain_look *out);

/* Process @pid has ended: release its lanes once they are read. */
void drain_orphans(struct drain *d, uint32_t pid);

/* With saves: everything read of @lane, or of all lanes, is in the files. */
void drain_saved(struct drain *d, uint32_t lane);
void drain_all_saved(struct drain *d);

/* The run is over: count what was never read. */
void drain_finish(struct drain *d);

/* Time in ns of a record with @ticks, for callers that inspect a region from outside. */
uint64_t drain_time(const struct drain *d, uint32_t ticks_kind, uint64_t ticks);

#endif

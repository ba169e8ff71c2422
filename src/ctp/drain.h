/* SPDX-License-Identifier: MIT */
/*
 * drain.h - read what threads write into their lanes.
 *
 * Each look has a time, the newest mark of the clock: what was written until then is
 * taken, what is later waits for the next look.  So events can be put in order across
 * lanes where the trace wants that: of one coroutine always, because whoever goes on
 * with it has seen its last event published; of different ones as far as their threads
 * were not stopped between reading the counter and publishing.
 *
 * A look costs what was written since the last, and a cache line per lane.
 *
 * Trust
 *   Lanes are written by programs we know nothing of.  A record is copied once; chunk
 *   numbers are checked, and no chunk can be in two lanes; a lane that breaks the rules
 *   is not read any further, and said to be broken.
 */
#ifndef CTP_DRAIN_H
#define CTP_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "ctp/lanes.h"
#include "ctp/tickclock.h"
#include "trace/event.h"
#include "trace/site.h"
#include "trace/writer.h"

/* Where it all goes. */
struct drain_sink {
	bool ordered; /* events of all lanes in one order of time, please */
	void (*lane)(void *ctx, const struct trace_lane *lane);
	void (*event)(void *ctx, uint32_t lane, const struct trace_event *ev);
	void (*gap)(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
		    uint64_t transitions, uint64_t others);
	void (*site)(void *ctx, const struct trace_site *site);
	/* With drain.saves: memory is short, out with everything that was handed on.  Or NULL. */
	void (*save)(void *ctx);
	/* With drain.saves: the lane is free for another thread, from its first record on. */
	void (*freed)(void *ctx, uint32_t lane);
};

struct drain_totals {
	uint64_t transitions; /* read */
	uint64_t marks;       /* births, wakes, ends: read */
	uint64_t lost;        /* transitions that found no room */
	uint64_t lost_marks;
	uint64_t homeless; /* transitions of threads that found no lane */
	uint64_t homeless_marks;
	uint64_t garbage; /* records that cannot be any */
	uint64_t kinds[NR_TRACE_KINDS];
	uint64_t coroutines; /* ever begun */
	uint64_t unborn;     /* coroutines that found no room */
	uint64_t untraced;   /* of homeless: before their program had joined us */
	uint64_t later;      /* coroutines that began before that, and were never traced */
	uint64_t lost_sites; /* places that found no room */
	uint64_t blocked_ns;
	uint64_t blocked;
	uint32_t broken; /* lanes */
	uint32_t lanes;  /* opened or taken over: threads that wrote */
};

/* What we know of one lane.  Private memory. */
struct drain_lane {
	bool open, broken, orphan;
	uint32_t pid;
	uint64_t tid;
	uint32_t ticks;   /* CTP_TICKS_* */
	uint32_t chunk;   /* the one being read */
	uint32_t at;      /* the next record in it */
	bool dirty;       /* on the list of those with events that are not saved */
	uint32_t oldest;  /* the first chunk that was not given back */
	uint32_t nr_held; /* chunks from there to the one being read */
	uint32_t returned;
	uint64_t head;  /* as of this look */
	uint64_t read;  /* records */
	uint64_t saved; /* of these: are in the trace's files, with drain.saves */
	uint64_t next;  /* the time of the next event, when it is known to be there */
	uint64_t last;  /* the time of the last one: a lane's time does not go back */
	uint64_t lost, lost_marks, blocked_ns;
	uint32_t blocked;
	uint64_t told_lost, told_marks;         /* of these, as gaps */
	uint64_t gap_from, gap_lost, gap_marks; /* a gap to be told with the next event */
	struct ctp_record rec;                  /* the next event, as it was read */
};

/* Sites that their program has not finished yet, or never will. */
#define DRAIN_SKIPPED 64u

struct drain {
	struct lanes *lanes;
	struct tickclock *clock;
	const struct drain_sink *sink;
	void *ctx;
	struct drain_lane *cursors; /* by lane */
	uint32_t nr_cursors;
	uint32_t nr_open; /* lanes that threads have, as far as we know */
	uint32_t room;
	uint32_t *heap; /* lanes with an event, the earliest first */
	uint32_t nr_heap;
	uint32_t *owner; /* by chunk: 1 + its lane */
	uint32_t *after; /* by chunk of a lane: the next one */
	/*
	 * Chunks and lanes are given back only once their events are in the trace's files: should
	 * the collector be killed, whatever is not in the files is in the region (journal.h).
	 */
	bool saves;
	uint32_t *dirty; /* lanes with events that are not saved; there may be more */
	uint32_t nr_dirty;
	uint64_t left_lost, left_lost_marks; /* of lanes that were given back */
	uint32_t sites_seen;                 /* told, or among the skipped */
	uint32_t skipped[DRAIN_SKIPPED], nr_skipped;
	struct site_table sites; /* told: each place once */
	uint64_t wild[8];        /* counts of the region that cannot be, as they were last seen */
	uint64_t start_ns;
	uint64_t first_ns, first_ticks; /* no event is older */
	uint64_t limit_ticks, limit_ns; /* of this look */
	uint64_t moment_ticks;
	uint64_t may_take;        /* so many more in this look */
	uint32_t turn;            /* lane by lane: whose turn it is */
	struct tick_mark stretch; /* between two marks of the clock: where we are, */
	uint64_t stretch_ticks;   /* and so long it is */
	uint64_t end_ns;          /* of the run, once it is known: no gap lasts longer; or 0 */
	bool last;                /* the writers are gone: nothing waits for the next look */
	struct trace_event event; /* the one that is handed on */
	char name[CTP_EXT_NAME_SIZE + CTP_TEXT_SIZE];
	struct drain_totals totals;
};

/* What one look came upon. */
struct drain_look {
	uint64_t events; /* of all kinds */
	uint64_t lost;
	uint64_t left; /* records that are there and were not taken */
	bool cut;      /* of these, some are from before the look */
};

int drain_open(struct drain *d, struct lanes *lanes, struct tickclock *clock,
	       const struct drain_sink *sink, void *ctx, struct err *err);
void drain_close(struct drain *d);

void drain_look(struct drain *d, struct drain_look *out);

/* The process is gone: what it had is nobody's any more, once it is read. */
void drain_orphans(struct drain *d, uint32_t pid);

/* With saves: everything that was read of @lane is in the files; of all lanes. */
void drain_saved(struct drain *d, uint32_t lane);
void drain_all_saved(struct drain *d);

/* The run is over: count what was never read. */
void drain_finish(struct drain *d);

/* Record what @d would make of one record, for who looks at a region from outside. */
uint64_t drain_time(const struct drain *d, uint32_t ticks_kind, uint64_t ticks);

#endif

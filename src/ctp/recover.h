/* SPDX-License-Identifier: MIT */
/*
 * recover.h - what a region tells of a run: every coroutine's state, every thread's last
 * events, what nobody has read yet.
 *
 * Of a run whose collector or program died, or of one that goes on (then it is as of one
 * moment, roughly).  Nothing is changed.
 */
#ifndef CTP_RECOVER_H
#define CTP_RECOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "ctp/drain.h"
#include "ctp/harvest.h"
#include "ctp/image.h"
#include "ctp/journal.h"
#include "trace/writer.h"

struct recover_options {
	uint32_t last;      /* so many events of each thread are kept */
	bool all;           /* the trace has what the collector read already, too */
	bool join;          /* the trace begins with what the killed collector had written */
	const char *joined; /* where that is; NULL: where the collector wrote it */
	const char *output; /* NULL: no trace is written */
	enum trace_format format;
	const char *tool; /* who writes it */
	/* For a glance at a run that goes on, once a second or so: */
	uint32_t newest; /* chunks of each thread that are looked at; 0: all */
	bool threads;    /* tell which thread a coroutine was last seen on */
	bool unordered;  /* coroutines come as they lie in the region */
	uint64_t of;     /* not 0: of all events only this coroutine's are kept */
};

struct recover_event {
	struct trace_event ev; /* without its name */
	char name[CTP_LIFE_NAME_SIZE + 1];
	bool unread; /* by the collector; always so where that is not known */
};

/* One that writes a lane, or that wrote into stations. */
struct recover_thread {
	uint64_t tid;
	uint32_t pid;  /* 0: not known */
	uint32_t lane; /* TRACE_LANE_STATIONS: none */
	bool closed;   /* it is over */
	bool broken;   /* its lane cannot be read */
	uint64_t written, read,
		kept;   /* records ever; read by the collector; of these still there */
	uint64_t saved; /* of those read: in its trace, as far as that is known; else as read */
	uint64_t dropped, dropped_others;
	uint64_t events;            /* found */
	struct recover_event *last; /* in order of time */
	uint32_t nr_last;
};

struct recover_coroutine {
	struct sidecar_coroutine co; /* its name is below */
	char name[CTP_LIFE_NAME_SIZE + 1];
	uint64_t woken_ts; /* it was woken since it suspended; 0: not that we know */
	uint64_t tid;      /* where it ran last, if that was asked for; 0: not known */
	uint32_t unit;     /* number of its life or station: nobody else has it meanwhile */
};

enum recover_life { PROCESS_GONE, PROCESS_THERE, PROCESS_OTHER };

struct recover_process {
	uint32_t pid;
	enum recover_life life; /* OTHER: the number is another's by now */
	char command[32];       /* of one that is there */
};

/* Which event is where: written = in the trace + not in it + lost + gone. */
struct recover_account {
	uint64_t saved, others_saved;     /* in the collector's trace */
	uint64_t unsaved, others_unsaved; /* found in the region, and not in that trace */
	uint64_t lost, others_lost;       /* dropped by the program, all lanes ever */
	uint64_t gone;                    /* records in neither: of broken lanes, or given back */
	uint64_t missing;                 /* transitions that the trace should have and has not */
};

struct recover {
	struct image image;
	struct journal_copy journal;
	struct recover_account account; /* only with a journal */
	struct recover_options options;
	struct recover_thread *threads;
	size_t nr_threads;
	struct recover_coroutine *coroutines; /* suspended the longest first, then the others */
	size_t nr_coroutines;
	size_t by_state[NR_TRACE_STATES];
	struct recover_process *processes;
	size_t nr_processes;
	struct trace_site *sites; /* by number; no file where there is none */
	uint32_t nr_sites;
	struct site_table places; /* has their strings */
	struct drain_totals lanes;
	struct harvest_totals stations;
	uint64_t first_ts, last_ts;  /* of all events found */
	uint64_t now_ns;             /* CLOCK_MONOTONIC, */
	uint64_t now_realtime_ns;    /* and the time of day then */
	bool same_time;              /* times are of this machine's clock, since it was started */
	struct trace_counts written; /* into the trace */
	struct err output, sidecar;  /* why it could not be */
	bool short_of_memory;        /* not everything is here */
};

/* @path: a region, or a directory with one. */
int recover_open(struct recover *r, const char *path, const struct recover_options *options,
		 struct err *err);

/* The same of an open file. */
int recover_read(struct recover *r, int fd, const char *path, const struct recover_options *options,
		 struct err *err);
void recover_close(struct recover *r);

/* The moment that ages are counted to: now, or the last sign of life. */
uint64_t recover_moment(const struct recover *r);

/* Is any of the programs still there? */
bool recover_goes_on(const struct recover *r);

/* NULL: not told. */
const struct trace_site *recover_site(const struct recover *r, uint32_t id);

#endif

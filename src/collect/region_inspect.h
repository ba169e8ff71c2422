/* SPDX-License-Identifier: MIT */
/*
 * region_inspect.h - analyze the region of a run.
 *
 * Determines the state of every coroutine, the last events of every thread and the events that
 * are not read yet: for a run whose collector or program was killed, or for a current run (then
 * approximately as of one moment).  The region is not changed.
 */
#ifndef COLLECT_REGION_INSPECT_H
#define COLLECT_REGION_INSPECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "collect/lane_scan.h"
#include "collect/station_scan.h"
#include "collect/region_copy.h"
#include "collect/journal.h"
#include "trace/trace_writer.h"

struct recover_options {
	uint32_t last;      /* number of events to keep per thread */
	bool all;           /* include events in the trace that the collector has already read */
	bool join;          /* start the trace with what the killed collector had written */
	const char *joined; /* path of that trace; NULL: from the journal */
	const char *output; /* NULL: no trace is written */
	enum trace_format format;
	const char *tool; /* name and version for the sidecar */
	/* For frequent inspection of a current run, about once a second: */
	uint32_t newest; /* chunks to read per thread; 0: all */
	bool threads;    /* determine the last thread of each coroutine */
	bool unordered;  /* leave coroutines in the order of the region */
	uint64_t of;     /* not 0: keep only events of this coroutine */
};

struct recover_event {
	struct trace_event ev; /* without its name */
	char name[CTP_LIFE_NAME_SIZE + 1];
	bool unread; /* by the collector; true if unknown */
};

/* A thread that writes a lane, or that wrote into stations. */
struct recover_thread {
	uint64_t tid;
	uint32_t pid;  /* 0: unknown */
	uint32_t lane; /* TRACE_LANE_STATIONS: no lane */
	bool closed;   /* the thread has ended */
	bool broken;   /* the lane is corrupt */
	uint64_t written, read,
		kept;   /* records ever; read by the collector; of these still in the region */
	uint64_t saved; /* records in the collector's trace; equal to read if unknown */
	uint64_t dropped, dropped_others;
	uint64_t events;            /* found in the region */
	struct recover_event *last; /* in time order */
	uint32_t nr_last;
};

struct recover_coroutine {
	struct sidecar_coroutine co; /* its name is below */
	char name[CTP_LIFE_NAME_SIZE + 1];
	uint64_t woken_ts; /* when it was woken since it suspended; 0: not known to be */
	uint64_t tid;      /* thread of its last transition, if requested; 0: unknown */
	uint32_t unit; /* number of its ctp_life or station, unique while the coroutine exists */
};

enum recover_life { PROCESS_GONE, PROCESS_THERE, PROCESS_OTHER };

struct recover_process {
	uint32_t pid;
	enum recover_life life; /* OTHER: the pid was reused */
	char command[32];       /* of a process that is THERE */
};

/* Location of every event: written = saved + unsaved + lost + gone. */
struct recover_account {
	uint64_t saved, others_saved;     /* in the collector's trace */
	uint64_t unsaved, others_unsaved; /* in the region and not in that trace */
	uint64_t lost, others_lost;       /* lost by the program, all lanes ever */
	uint64_t gone;                    /* records in neither: of corrupt lanes, or given back */
	uint64_t missing; /* transitions that the trace should contain and does not */
};

struct recover {
	struct image image;
	struct journal_copy journal;
	struct recover_account account; /* valid only with a journal */
	struct recover_options options;
	struct recover_thread *threads;
	size_t nr_threads;
	struct recover_coroutine *coroutines; /* longest suspended first, then the others */
	size_t nr_coroutines;
	size_t by_state[NR_TRACE_STATES];
	struct recover_process *processes;
	size_t nr_processes;
	struct trace_site *sites; /* by number; file is NULL if missing */
	uint32_t nr_sites;
	struct site_table places; /* owns their strings */
	struct drain_totals lanes;
	struct harvest_totals stations;
	uint64_t first_ts, last_ts;  /* of all events found */
	uint64_t now_ns;             /* CLOCK_MONOTONIC at the time of reading */
	uint64_t now_realtime_ns;    /* time of day at the same moment */
	bool same_time;              /* times are of this machine's clock since its last boot */
	struct trace_counts written; /* into the trace */
	struct err output, sidecar;  /* why writing failed */
	bool short_of_memory;        /* the result is incomplete */
};

/* @path: a region, or a directory that contains one. */
int recover_open(struct recover *r, const char *path, const struct recover_options *options,
		 struct err *err);

/* The same for an open file. */
int recover_read(struct recover *r, int fd, const char *path, const struct recover_options *options,
		 struct err *err);
void recover_close(struct recover *r);

/* The moment that ages refer to: now, or the last known activity. */
uint64_t recover_moment(const struct recover *r);

/* True if one of the programs still runs. */
bool recover_goes_on(const struct recover *r);

/* NULL: unknown site. */
const struct trace_site *recover_site(const struct recover *r, uint32_t id);

#endif

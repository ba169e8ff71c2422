/* SPDX-License-Identifier: MIT */
/*
 * collector.h - collect from programs until they are done.
 *
 * One thread, one loop: look at the stations, write what is there, wait as long as
 * the pace says (pace.h) or, when all is quiet, announce sleep and wait to be woken.
 * However the program ends, everything it left in the region is taken before the
 * files are closed.
 */
#ifndef CTP_COLLECTOR_H
#define CTP_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ctp/drain.h"
#include "ctp/harvest.h"
#include "ctp/lanes.h"
#include "ctp/worst.h"
#include "trace/writer.h"

struct snapshot_result;

struct collector_config {
	uint32_t nr_stations;
	const char *shm;    /* NULL: a private place */
	const char *sock;   /* NULL: a private place */
	const char *output; /* "-": stdout */
	enum trace_format format;
	char *const *argv; /* the program; NULL: serve until told to stop */
	bool wait_all;     /* go on until every connected process is gone, too */
	struct lanes_config lanes;
	uint64_t flight_size; /* not 0: keep that much of the newest, write it on request */
	const char *tool;     /* who writes the sidecar: "corotracer 1.2.3" */
	/* Called once region and socket are there, before anything runs. */
	void (*ready)(const char *shm, const char *sock, uint32_t nr_stations);
	/* The trace has standard output; the program's goes to standard error instead. */
	void (*stdout_moved)(void);
	/* A snapshot that a signal asked for is written, or not. */
	void (*snapshot_taken)(const struct snapshot_result *result);
};

struct collector_result {
	struct harvest_totals totals; /* of stations and lanes */
	struct drain_totals lanes;    /* of these, the lanes' */
	struct err no_lanes;          /* why none were offered; code 0: they were */
	int starved;                  /* errno: the region could not grow any more */
	uint64_t place_holds;         /* the region's place: less than was wanted; 0: enough */
	char place[256];              /* the region's path; its end may be missing */
	uint64_t region_bytes;        /* of memory, at the end */
	uint64_t collected;           /* transitions in the trace */
	uint64_t lost;                /* written - collected, for whatever reason */
	uint64_t lost_output;         /* of these: read, but the file would not take them */
	uint64_t lost_full;           /* of these: there was no room in their lane */
	uint64_t others_collected;    /* births, wakes, ends, destroys in the trace */
	uint64_t others_lost;         /* and those that are not */
	uint64_t waits, wait_ns;      /* for room in a lane */
	uint64_t forgotten;           /* transitions that a flight recorder let go */
	uint64_t others_forgotten;
	uint64_t clamped;      /* events whose time was moved to that of the one before */
	struct err output;     /* why not; code 0: all well */
	struct err sidecar;    /* likewise */
	uint32_t nr_connected; /* processes that ever connected */
	uint32_t still_connected;
	uint32_t nr_refused;     /* connections of other users */
	uint32_t nr_turned_away; /* connections that we had no descriptor for */
	uint64_t nr_wakeups;
	bool region_shrunk;
	bool wild_count;
	bool launched;
	int pid;                /* of the program */
	int exit_status;        /* as a shell puts it */
	int signal;             /* 0: none */
	int stop_signal;        /* that came last of those that ask us to end; 0: none did */
	uint64_t end_ns;        /* of the run: the last traced process's exit, or the last look */
	uint64_t duration_ns;   /* of the run */
	uint64_t collecting_ns; /* until everything was read, which may be later */
	uint64_t cpu_ns;        /* of the collector */
	struct worst worst;     /* coroutines that lost the most */
};

/*
 * Returns 0 when there was a run, however it ended: @result tells.  A negative errno
 * and words when there was none.
 */
int collector_run(const struct collector_config *config, struct collector_result *result,
		  struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - write what the flight recorder has, while the program runs or at its end.
 *
 * A snapshot is a whole trace: the run, its processes, all sites, the events in order,
 * what every coroutine that is there does, the totals.  Each one writes the output anew;
 * the one before is kept as .old.
 *
 * While the program runs a forked child writes it: the collector goes on collecting, and
 * the memory that both have in common is copied only where it changes.  One at a time;
 * who asks meanwhile waits.
 */
#ifndef CTP_SNAPSHOT_H
#define CTP_SNAPSHOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "ctp/collector.h"
#include "ctp/control.h"
#include "ctp/record.h"
#include "ctp/tickclock.h"

/* Where it all comes from. */
struct snapshot_source {
	const struct collector_config *config;
	const struct record *record; /* whose flight recorder it is */
	const struct harvest *harvest;
	const struct endpoint *endpoint;
	const struct lanes *lanes;
	struct tickclock *clock;
	const struct site_table *sites; /* that were told */
	/* Everything of a result that is known before the files are written. */
	void (*tell)(void *collector, struct collector_result *result);
	void *collector;
};

/* What came of one. */
struct snapshot_result {
	struct err err; /* code 0: it is there */
	char path[PATH_MAX];
	uint64_t written, collected, lost, forgotten; /* transitions */
	uint64_t others, others_forgotten;            /* births, wakes, ends */
	uint64_t coroutines;                          /* that are there */
};

/* Whoever asked, in order. */
struct snapshot_request {
	uint64_t ticket; /* 0: a signal */
	char *path;      /* NULL: the output */
};

struct snapshots {
	struct snapshot_source source;
	struct control control;
	struct err no_control; /* why there is none */
	pid_t child;           /* that writes one; 0: none */
	int result_fd;         /* and will tell here what came of it */
	size_t got;            /* bytes of that */
	struct snapshot_result result;
	struct snapshot_request queue[CONTROL_CLIENTS + 1];
	uint32_t nr_queue; /* the first is being written, if there is a child */
};

void snapshots_open(struct snapshots *s, const struct snapshot_source *source, const char *region);
void snapshots_close(struct snapshots *s);

/* Descriptors that become readable when there is something to do; -1 for none. */
#define SNAPSHOTS_FDS 2
void snapshots_fds(const struct snapshots *s, int fds[SNAPSHOTS_FDS]);

/* Take requests, start the next, tell who waited.  Never waits. */
void snapshots_serve(struct snapshots *s);

/* A signal asked for one. */
void snapshots_want(struct snapshots *s);

/* The run is over: wait for the one being written, then write the last; @r tells. */
void snapshots_finish(struct snapshots *s, struct collector_result *r);

/* Can the output be written anew again and again? */
int snapshot_check_output(const struct collector_config *config, struct err *err);

#endif

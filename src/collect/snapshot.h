/* SPDX-License-Identifier: MIT */
/*
 * snapshot.h - write the flight recorder's events, while the program runs or at its end.
 *
 * A snapshot is a complete trace: the run, its processes, all sites, the events in order, the
 * state of every coroutine that has not ended, the totals.  Each snapshot replaces the output;
 * the previous one is kept as .old.
 *
 * While the program runs, a forked child writes the snapshot: the collector continues to
 * collect, and the shared memory pages are copied only where they change.  One snapshot is
 * written at a time; further requests wait.
 */
#ifndef COLLECT_SNAPSHOT_H
#define COLLECT_SNAPSHOT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/collector.h"
#include "collect/control_socket.h"
#include "collect/trace_output.h"
#include "collect/tickclock.h"

/* Data sources of a snapshot. */
struct coro_cpu;

struct snapshot_source {
	const struct collector_config *config;
	const struct record *record; /* owner of the flight recorder */
	const struct harvest *harvest;
	const struct endpoint *endpoint;
	const struct lanes *lanes;
	struct tickclock *clock;
	const struct site_table *sites; /* reported sites */
	/* Fill in everything of a result that is known before the files are written. */
	void (*tell)(void *collector, struct collector_result *result);
	void *collector;
	const struct coro_cpu *cpu; /* off: processor time is not measured */
};

/* Result of one snapshot. */
struct snapshot_result {
	struct err err; /* code 0: written */
	char path[PATH_MAX];
	uint64_t written, collected, lost, forgotten; /* transitions */
	uint64_t others, others_forgotten;            /* create, wake and end events */
	uint64_t facts_forgotten, facts_refused;      /* see struct collector_result */
	uint64_t coroutines;                          /* that have not ended */
};

/* A request; the queue is in order of arrival. */
struct snapshot_request {
	uint64_t ticket; /* 0: requested by a signal */
	char *path;      /* NULL: the configured output */
};

struct snapshots {
	struct snapshot_source source;
	struct control control;
	struct err no_control; /* why there is no control socket */
	pid_t child;           /* writes a snapshot; 0: none */
	int result_fd;         /* the child writes its result here */
	size_t got;            /* bytes received of it */
	struct snapshot_result result;
	struct snapshot_request queue[CONTROL_CLIENTS + 1];
	uint32_t nr_queue; /* with a child, the first entry is being written */
};

void snapshots_open(struct snapshots *s, const struct snapshot_source *source, const char *region);
void snapshots_close(struct snapshots *s);

/* Descriptors that become readable when there is something to do; -1 if unused. */
#define SNAPSHOTS_FDS 2
void snapshots_fds(const struct snapshots *s, int fds[SNAPSHOTS_FDS]);

/* Accept requests, start the next one, answer finished ones.  Never blocks. */
void snapshots_serve(struct snapshots *s);

/* A signal requested a snapshot. */
void snapshots_want(struct snapshots *s);

/*
 * The run is over: wait for the snapshot in progress, then write the last one; @r receives its
 * result.
 */
void snapshots_finish(struct snapshots *s, struct collector_result *r);

/* Check that the output can be replaced repeatedly. */
int snapshot_check_output(const struct collector_config *config, struct err *err);

#endif

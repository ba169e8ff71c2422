/* SPDX-License-Identifier: MIT */
/*
 * serve_collector.h - ask the collector of a trace how it is, once a second, in its own thread.
 *
 * A collector that is stopped or hangs writes no events: without an answer from it, a page would
 * take that for a program that does nothing.
 */
#ifndef TOOL_SERVE_COLLECTOR_H
#define TOOL_SERVE_COLLECTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct collector_watch {
	const char *trace;
	pthread_t thread;
	bool runs;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t stop_soon;
	bool stops;
	bool is_known;        /* a collector of the trace has answered */
	uint64_t answered_ns; /* CLOCK_MONOTONIC of its last answer */
	uint64_t lost;        /* events, by its last answer */
	int failed;           /* why the collector could not be asked: a negative errno; 0: never */
	bool was_told;
};

/* @trace must outlive the watch.  Without memory for a thread nothing is known, and it has failed.
 */
void collector_watch_start(struct collector_watch *w, const char *trace);

/* False: nothing is known.  *@silent_ns: 0, or how long it has not answered for. */
bool collector_watch_get(struct collector_watch *w, uint64_t *silent_ns, uint64_t *lost);

/*
 * Why the collector could not be asked, or searched for, for lack of memory or descriptors: a
 * negative errno, once; 0: it could, or it was told already.
 */
int collector_watch_failed(struct collector_watch *w);

void collector_watch_stop(struct collector_watch *w);

#endif

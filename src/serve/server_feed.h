/* SPDX-License-Identifier: MIT */
/*
 * server_feed.h - build a view from a finished or growing trace, shared by several readers.
 *
 * One thread feeds, others query: every call below takes the lock itself.
 */
#ifndef SERVE_SERVER_FEED_H
#define SERVE_SERVER_FEED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/server_pace.h"
#include "trace/trace_reader.h"
#include "view/view.h"

struct feed {
	pthread_mutex_t lock; /* of all below except the reader (feeding thread only) */
	struct view *view;
	struct trace_reader *reader; /* NULL: everything is read */
	uint64_t ticks;              /* ticks of the view so far */
	bool ended;                  /* no further ticks */
	uint64_t tick_ns;            /* time of the last tick */
	uint64_t tick_cost_ns;       /* processor time of the last tick */
	uint64_t added;              /* items since the last tick */
	struct view_stream stream;   /* what the page is told of the collector */

	/* Of the feeding thread: */
	const char *path;
	struct feed_pace pace;
	bool has_more;      /* the last step left something to read */
	struct view *again; /* NULL, or the run is over and this view reads all of its trace */
};

/* @path must outlive the feed.  A trace that is still being written is followed. */
int feed_open(struct feed *f, const char *path, struct err *err);
void feed_close(struct feed *f);

/* True if the trace is still being written. */
bool feed_grows(const struct feed *f);

/* Read a finished trace completely; shows progress if stderr is a terminal. */
int feed_read_all(struct feed *f, const char *name, struct err *err);

/*
 * Read what a growing trace has now, for a bounded time.  1: a new tick; 0: none; a negative errno
 * with a message in @err: reading failed, and the view stays as it is.
 */
int feed_step(struct feed *f, struct err *err);

/*
 * What is known of the collector: @silent_ns without an answer (0: it answers), and events that it
 * has lost so far.
 */
void feed_set_collector(struct feed *f, uint64_t silent_ns, uint64_t lost);

/* For the server's requests. */
void feed_state(struct feed *f, uint64_t *ticks, bool *ended);
int feed_section(struct feed *f, const char *name, struct bytes *out, uint64_t *tick,
		 struct err *err);
int feed_delta(struct feed *f, uint64_t since, struct bytes *out, uint64_t *tick, struct err *err);

#endif

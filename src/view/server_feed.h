/* SPDX-License-Identifier: MIT */
/*
 * server_feed.h - from a trace, finished or growing, to a view that several may look at.
 *
 * One thread feeds, others ask: every call below takes the lock itself.
 */
#ifndef VIEW_SERVER_FEED_H
#define VIEW_SERVER_FEED_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/reader.h"
#include "view/view.h"

struct feed {
	pthread_mutex_t lock; /* of all below but the reader, which only the feeder uses */
	struct view *view;
	struct trace_reader *reader; /* NULL: all is read */
	uint64_t ticks;              /* of the view */
	bool ended;                  /* there will be no other tick */
	uint64_t tick_ns;            /* when the last one was, */
	uint64_t tick_cost_ns;       /* and what it took */
	uint64_t added;              /* items since then */
};

/* @path must outlive it.  A trace that is being written is followed. */
int feed_open(struct feed *f, const char *path, struct err *err);
void feed_close(struct feed *f);

/* Is it being written? */
bool feed_grows(const struct feed *f);

/* All of a finished trace, with progress on stderr if that is a terminal. */
int feed_read_all(struct feed *f, const char *name, struct err *err);

/*
 * Of one that grows: what there is by now, for a while at most.  1: there was a tick; 0: not;
 * -errno and words: it could not be read on, and what is there is all there will be.
 */
int feed_step(struct feed *f, struct err *err);

/* For those who ask. */
void feed_state(struct feed *f, uint64_t *ticks, bool *ended);
int feed_section(struct feed *f, const char *name, struct bytes *out, uint64_t *tick,
		 struct err *err);
int feed_delta(struct feed *f, uint64_t since, struct bytes *out, uint64_t *tick, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * watch.h - Ctrl-C while an export is under way.
 *
 * A thread takes the signals.  First it only asks (watch_stop()); whoever does not answer
 * within a second hangs somewhere, in a read from a pipe or in a server, and then the thread
 * removes what would stay behind and ends the process by that signal.
 */
#ifndef EXPORT_WATCH_H
#define EXPORT_WATCH_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "export/sink.h"

struct watch {
	const struct sink *sink; /* whose files are to go */
	struct sink_job *job;
	_Atomic int came;     /* the signal; 0: none */
	pthread_mutex_t lock; /* of is_open; whoever ends the process never gives it back */
	bool is_open;         /* the sink has something to drop */
	pthread_t thread;
	bool runs;
	int signals, done; /* signalfd, eventfd */
	sigset_t old_mask;
	struct sigaction old_pipe;
};

/* Where that cannot be had signals do what they always do. */
void watch_start(struct watch *w, const struct sink *sink, struct sink_job *job);

/* The signal that asked for the end; 0: none did. */
static inline int watch_came(struct watch *w)
{
	return atomic_load_explicit(&w->came, memory_order_relaxed);
}

/* From the end of open() to the beginning of close() there is something to drop. */
void watch_set_open(struct watch *w, bool is_open);

void watch_end(struct watch *w);

#endif

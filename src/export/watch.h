/* SPDX-License-Identifier: MIT */
/*
 * watch.h - handle Ctrl-C during an export.
 *
 * A thread receives the signals.  First it requests the end (watch_came()).  If the export has
 * not ended soon, it hangs in a read from a pipe or in a server, or writes an index; the thread
 * then removes the temporary files and ends the process with that signal.
 */
#ifndef EXPORT_WATCH_H
#define EXPORT_WATCH_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "export/sink.h"

struct watch {
	const struct sink *sink; /* its files are removed */
	struct sink_job *job;
	_Atomic int came;     /* the signal; 0: none */
	pthread_mutex_t lock; /* protects is_open; never released if the process is being ended */
	bool is_open;         /* the sink has something to drop */
	pthread_t thread;
	bool runs;
	int signals, done; /* signalfd, eventfd */
	sigset_t old_mask;
	struct sigaction old_pipe;
};

/* If the thread cannot be started, signals have their default effect. */
void watch_start(struct watch *w, const struct sink *sink, struct sink_job *job);

/* The signal that requested the end; 0: none. */
static inline int watch_came(struct watch *w)
{
	return atomic_load_explicit(&w->came, memory_order_relaxed);
}

/* Set between the end of open() and the beginning of close(), when there is something to drop. */
void watch_set_open(struct watch *w, bool is_open);

void watch_end(struct watch *w);

#endif

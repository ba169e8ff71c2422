/* SPDX-License-Identifier: MIT */
/* watch.c - handle Ctrl-C during an export. */
#include "export/watch.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define PATIENCE_MS 80

/* Signals that request the end, except those ignored by the parent process (nohup). */
static void wanted_signals(sigset_t *set)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction now;
	size_t i;

	sigemptyset(set);
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(set, all[i]);
	}
}

/* True if @fd becomes readable within that time. */
static bool has_come(int fd, int timeout_ms)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, timeout_ms) > 0;
}

static void end_process(struct watch *w, int sig)
{
	sigset_t one;

	pthread_mutex_lock(&w->lock);
	if (w->is_open && w->sink->drop)
		w->sink->drop(w->job);
	signal(sig, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, sig);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	raise(sig);
	_exit(128 + sig);
}

static void *watch_check(void *arg)
{
	struct watch *w = arg;
	struct pollfd p[2] = { { .fd = w->signals, .events = POLLIN },
			       { .fd = w->done, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents || read(w->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return NULL;
	/* Only the number is published, no other data: no pair. */
	atomic_store_explicit(&w->came, (int)info.ssi_signo, memory_order_relaxed);
	if (!has_come(w->done, PATIENCE_MS))
		end_process(w, (int)info.ssi_signo);
	return NULL;
}

void watch_start(struct watch *w, const struct sink *sink, struct sink_job *job)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t set;

	memset(w, 0, sizeof(*w));
	w->sink = sink;
	w->job = job;
	pthread_mutex_init(&w->lock, NULL);
	/* Clients and pipes that close are reported as errors with a message. */
	sigaction(SIGPIPE, &ignore, &w->old_pipe);
	wanted_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, &w->old_mask);
	w->signals = signalfd(-1, &set, SFD_CLOEXEC);
	w->done = eventfd(0, EFD_CLOEXEC);
	w->runs = w->signals >= 0 && w->done >= 0 &&
		  pthread_create(&w->thread, NULL, watch_check, w) == 0;
	if (!w->runs)
		pthread_sigmask(SIG_SETMASK, &w->old_mask, NULL);
}

void watch_set_open(struct watch *w, bool is_open)
{
	pthread_mutex_lock(&w->lock);
	w->is_open = is_open;
	pthread_mutex_unlock(&w->lock);
}

void watch_end(struct watch *w)
{
	uint64_t one = 1;

	if (w->runs && write(w->done, &one, sizeof(one)) == (ssize_t)sizeof(one))
		pthread_join(w->thread, NULL);
	if (w->signals >= 0)
		close(w->signals);
	if (w->done >= 0)
		close(w->done);
	if (w->runs)
		pthread_sigmask(SIG_SETMASK, &w->old_mask, NULL);
	sigaction(SIGPIPE, &w->old_pipe, NULL);
	pthread_mutex_destroy(&w->lock);
}

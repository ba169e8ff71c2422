/* SPDX-License-Identifier: MIT */
/*
 * edge_sched.h - a reactor: stackless coroutines, one per descriptor, and edge-triggered epoll.
 *
 * Each descriptor is registered once.  An edge that arrives while its coroutine waits resumes it;
 * the coroutine must read until EAGAIN before it waits.
 */
#ifndef TESTS_CORPUS_EDGE_SCHED_H
#define TESTS_CORPUS_EDGE_SCHED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include <corotracer/corotracer.h>

struct edge_conn {
	struct corotracer_coro trace;
	bool (*step)(struct edge_conn *c); /* false: ended */
	void *arg;
	int fd;
	int line; /* where it continues */
	struct corotracer_site *site;
};

#define EDGE_BEGIN(c)        \
	switch ((c)->line) { \
	case 0:
#define EDGE_END() \
	}          \
	return false
#define EDGE_WAIT(c)                         \
	do {                                 \
		(c)->site = COROTRACER_HERE; \
		(c)->line = __LINE__;        \
		return true;                 \
	case __LINE__:;                      \
	} while (0)

/* Starts with the first step, at once.  The descriptor becomes non-blocking. */
#define edge_spawn(c, step, arg, fd, ...) \
	edge_spawn_at(COROTRACER_HERE, (c), (step), (arg), (fd), __VA_ARGS__)
void edge_spawn_at(struct corotracer_site *site, struct edge_conn *c,
		   bool (*step)(struct edge_conn *), void *arg, int fd, const char *name, ...)
	__attribute__((format(printf, 6, 7)));

/* Returns the number of coroutines that have not ended. */
int edge_run(unsigned ms);

#endif

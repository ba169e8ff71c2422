/* SPDX-License-Identifier: MIT */
/* edge_sched.c - one epoll descriptor, and the coroutines that it resumes. */
#include "edge_sched.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "run_time.h"

static int edge_epoll = -1, edge_alive;

static uint64_t edge_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000u + (uint64_t)ts.tv_nsec / 1000000u;
}

static void edge_step(struct edge_conn *c)
{
	corotracer_resume(&c->trace);
	if (!c->step(c)) {
		corotracer_end(&c->trace);
		edge_alive--;
		return;
	}
	corotracer_suspend_on(&c->trace, NULL, c->site, CTP_REASON_IO_READ, (uint64_t)c->fd);
}

void edge_spawn_at(struct corotracer_site *site, struct edge_conn *c,
		   bool (*step)(struct edge_conn *), void *arg, int fd, const char *name, ...)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.ptr = c };
	char text[64];
	va_list ap;

	if (edge_epoll < 0) {
		corotracer_init();
		edge_epoll = epoll_create1(EPOLL_CLOEXEC);
	}
	va_start(ap, name);
	vsnprintf(text, sizeof(text), name, ap);
	va_end(ap);
	*c = (struct edge_conn){ .step = step, .arg = arg, .fd = fd };
	corotracer_begin_at(&c->trace, text, NULL, site);
	edge_alive++;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	edge_step(c);
	epoll_ctl(edge_epoll, EPOLL_CTL_ADD, fd, &ev);
}

int edge_run(unsigned ms)
{
	uint64_t end = edge_now() + run_time_ns(ms) / 1000000u;
	struct epoll_event events[16];
	struct edge_conn *c;
	int i, nr;

	while (edge_alive && edge_now() < end) {
		nr = epoll_wait(edge_epoll, events, 16, (int)(end - edge_now()));
		for (i = 0; i < nr; i++) {
			c = events[i].data.ptr;
			corotracer_wake_by(&c->trace, NULL, NULL, CTP_REASON_IO_READ,
					   (uint64_t)c->fd);
			edge_step(c);
		}
	}
	return edge_alive;
}

/* SPDX-License-Identifier: MIT */
/*
 * bug_yield_starves_io.c - this loop looks at its descriptors when no coroutine is ready; an
 * indexer that works in pieces and yields between them keeps it from looking.
 *
 * corpus: bug
 * class: lost-wakeup|starvation
 * at: @poll
 * victims: conn-0, conn-1, conn-2, conn-3
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <corotracer/corotracer.h>

#define NR_CONNS 4

struct conn {
	struct corotracer_coro trace;
	int fd, peer;
};

static struct conn conns[NR_CONNS];
static struct corotracer_coro indexer;

static long clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void conn_step(struct conn *c)
{
	char data[64];

	corotracer_resume(&c->trace);
	while (read(c->fd, data, sizeof(data)) > 0)
		;
	corotracer_await(&c->trace, CTP_REASON_IO_READ, c->fd); /* @poll */
}

/* Half a millisecond of work. */
static void indexer_step(void)
{
	long end = clock_us() + 500;

	corotracer_resume(&indexer);
	while (clock_us() < end)
		;
	corotracer_await(&indexer, CTP_REASON_YIELD, 0);
}

static void *send_requests(void *arg)
{
	int i;

	(void)arg;
	for (;;) {
		for (i = 0; i < NR_CONNS; i++)
			(void)!send(conns[i].peer, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
		nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	}
	return NULL;
}

static void open_conns(int epoll)
{
	struct epoll_event ev = { .events = EPOLLIN };
	char name[32];
	int i, pair[2];

	for (i = 0; i < NR_CONNS; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) != 0)
			abort();
		conns[i].fd = pair[0];
		conns[i].peer = pair[1];
		snprintf(name, sizeof(name), "conn-%d", i);
		corotracer_spawn(&conns[i].trace, name, NULL);
		conn_step(&conns[i]);
		ev.data.ptr = &conns[i];
		epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &ev);
	}
}

int main(void)
{
	int epoll = epoll_create1(0), i, nr;
	struct epoll_event events[8];
	long start = clock_us(), now;
	pthread_t thread;

	corotracer_init();
	open_conns(epoll);
	corotracer_spawn(&indexer, "indexer", NULL);
	pthread_create(&thread, NULL, send_requests, NULL);
	while ((now = clock_us() - start) < 2300000) {
		if (now > 500000) { /* there is something to index */
			indexer_step();
			continue;
		}
		nr = epoll_wait(epoll, events, 8, 10);
		for (i = 0; i < nr; i++) {
			struct conn *c = events[i].data.ptr;

			corotracer_wake_by(&c->trace, NULL, NULL, CTP_REASON_IO_READ,
					   (uint64_t)c->fd);
			conn_step(c);
		}
	}
	return 0;
}

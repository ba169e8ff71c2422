/* SPDX-License-Identifier: MIT */
/*
 * diff_target.c - clients and a server on the scheduler of examples/c, for comparisons of runs.
 *
 *	diff_target [IO_US [CPU_US [LEFT [EXTRA]]]]
 *
 * Each of four clients sends 40 requests.  The handler waits IO_US microseconds and computes for
 * CPU_US microseconds of CPU time.  LEFT coroutines wait for ever when the program ends; EXTRA adds
 * a wait to the handler.  With MOVED defined, all lines are others, as after an edit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../examples/c/channel.h"
#include "../../examples/c/sched.h"

#define CLIENTS  4
#define REQUESTS 40

#ifdef MOVED
#line 1000
#endif

static struct channel *requests, *replies[CLIENTS], *nothing;
static unsigned io_us, cpu_us, extra, done;

static uint64_t cpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void handle_request(void)
{
	uint64_t end;

	coro_sleep(io_us * UINT64_C(1000));
	if (extra)
		coro_yield();
	end = cpu_now() + cpu_us;
	while (cpu_now() < end)
		;
}

static void serve(void *arg)
{
	int client;

	(void)arg;
	while (channel_recv(requests, &client)) {
		handle_request();
		channel_send(replies[client], &client);
	}
}

static void ask(void *arg)
{
	int client = *(const int *)arg, i, reply;

	for (i = 0; i < REQUESTS; i++) {
		channel_send(requests, &client);
		channel_recv(replies[client], &reply);
	}
	/* There is one thread, so the counter needs no lock. */
	if (++done == CLIENTS)
		channel_close(requests);
}

static void wait_for_nothing(void *arg)
{
	int message;

	channel_recv((struct channel *)arg, &message);
}

static unsigned number_of(int argc, char **argv, int i, unsigned otherwise)
{
	return argc > i ? (unsigned)strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	static int numbers[CLIENTS];
	static struct sched *s; /* not freed: coroutines that wait at the end are left */
	unsigned left = number_of(argc, argv, 3, 0), i;

	s = sched_new();
	io_us = number_of(argc, argv, 1, 500);
	cpu_us = number_of(argc, argv, 2, 20);
	extra = number_of(argc, argv, 4, 0);
	requests = channel_new(CLIENTS, sizeof(int));
	nothing = channel_new(1, sizeof(int));
	sched_spawn(s, serve, NULL, "server");
	for (i = 0; i < CLIENTS; i++) {
		numbers[i] = (int)i;
		replies[i] = channel_new(1, sizeof(int));
		sched_spawn(s, ask, &numbers[i], "client %u", i);
	}
	for (i = 0; i < left; i++)
		sched_spawn(s, wait_for_nothing, nothing, "left %u", i);
	return sched_run(s, 1) == (long)left ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/*
 * bug_eventfd_forgotten.c - a thread that has finished a query puts its fiber into the loop's queue
 * and forgets to write to the eventfd.  The loop sleeps in epoll_wait() and does not look.
 *
 * corpus: bug
 * class: lost-wakeup|starvation
 * at: @stuck
 * victims: query-9
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "loop_sched.h"

/* The program's own queue of finished queries: read when the eventfd is. */
static struct {
	pthread_mutex_t lock;
	struct fiber *finished[16];
	int nr, eventfd;
} results = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void collect_results(void *arg)
{
	uint64_t count;
	int i;

	(void)arg;
	for (;;) {
		fiber_poll(results.eventfd, EPOLLIN);
		(void)!read(results.eventfd, &count, sizeof(count));
		pthread_mutex_lock(&results.lock);
		for (i = 0; i < results.nr; i++)
			fiber_unpark(results.finished[i]);
		results.nr = 0;
		pthread_mutex_unlock(&results.lock);
	}
}

/* A result that comes late, on a loaded machine, wakes the loop for query 9, too. */
static bool is_served;

struct query {
	struct fiber *fiber;
	int number;
};

static void *execute_query(void *arg)
{
	struct query *q = arg;
	uint64_t one = 1;

	nanosleep(&(struct timespec){ 0, 8000000 }, NULL);
	pthread_mutex_lock(&results.lock);
	results.finished[results.nr++] = q->fiber;
	pthread_mutex_unlock(&results.lock);
	if (q->number != 9) /* its result is empty: the early return forgets this */
		(void)!write(results.eventfd, &one, sizeof(one));
	return NULL;
}

static void run_query(void *arg)
{
	struct query q = { fiber_current(), (int)(intptr_t)arg };
	pthread_t thread;

	pthread_create(&thread, NULL, execute_query, &q);
	pthread_detach(thread);
	fiber_park(CTP_REASON_USER, &q); /* @stuck */
	is_served = q.number == 9;
}

int main(void)
{
	int i;

	results.eventfd = eventfd(0, EFD_NONBLOCK);
	loop_spawn(collect_results, NULL, "collector");
	for (i = 0; i < 10; i++) {
		loop_spawn(run_query, (void *)(intptr_t)i, "query-%d", i);
		loop_run(i < 9 ? 50 : 1600);
	}
	return is_served ? 75 : 0;
}

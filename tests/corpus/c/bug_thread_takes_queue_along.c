/* SPDX-License-Identifier: MIT */
/*
 * bug_thread_takes_queue_along.c - a pool becomes smaller: the thread that ends leaves two sessions
 * in its queue, which no other thread looks at.
 *
 * corpus: bug
 * class: lost-wakeup|starvation
 * at: @wait
 * victims: session-3, session-7
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 12
#define NR_THREADS  4

struct session {
	struct corotracer_coro trace;
	int is_ready;
};

/* A thread with its queue; guarded by the lock. */
struct lane {
	struct session *queue[NR_SESSIONS];
	int nr, has_ended;
};

static struct session sessions[NR_SESSIONS];
static struct lane lanes[NR_THREADS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *run_lane(void *arg)
{
	struct lane *l = arg;
	struct session *s;
	int i;

	for (;;) {
		pthread_mutex_lock(&lock);
		while (l->nr && !l->has_ended) {
			s = l->queue[0];
			for (i = 1; i < l->nr; i++)
				l->queue[i - 1] = l->queue[i];
			l->nr--;
			s->is_ready = 0;
			corotracer_resume(&s->trace);
			corotracer_await(&s->trace, CTP_REASON_USER, s); /* @wait */
		}
		pthread_mutex_unlock(&lock);
		if (l->has_ended)
			return NULL;
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	}
}

static void session_wake(int number, int nr_lanes)
{
	struct session *s = &sessions[number];
	struct lane *l = &lanes[number % nr_lanes];

	if (s->is_ready)
		return;
	corotracer_wake(&s->trace, NULL);
	s->is_ready = 1;
	l->queue[l->nr++] = s;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	char name[32];
	int i, round, nr_lanes = NR_THREADS;

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		corotracer_spawn(&sessions[i].trace, name, NULL);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run_lane, &lanes[i]);
	for (round = 0; round < 230; round++) {
		pthread_mutex_lock(&lock);
		if (round == 50) { /* smaller: with the sessions 3 and 7 in the last queue */
			session_wake(3, NR_THREADS);
			session_wake(7, NR_THREADS);
			nr_lanes = NR_THREADS - 1;
			lanes[nr_lanes].has_ended = 1;
		}
		for (i = 0; i < NR_SESSIONS; i++)
			session_wake(i, nr_lanes);
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){ 0, 8000000 }, NULL);
	}
	exit(lanes[NR_THREADS - 1].nr == 2 ? 0 : 75);
}

/* SPDX-License-Identifier: MIT */
/*
 * bug_double_resume.c - a session is put into the queue of a thread pool by its timer and by its
 * data at the same time; two threads run the same session.
 *
 * corpus: bug
 * class: double-resume
 * victims: session-4
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 10

struct session {
	struct corotracer_coro trace;
	atomic_int nr_inside;
	atomic_int nr_queued; /* or running */
};

static struct session sessions[NR_SESSIONS];
static struct session *queue[64];
static unsigned head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static atomic_bool did_happen;

static void session_enqueue(struct session *s)
{
	corotracer_wake(&s->trace, NULL);
	atomic_fetch_add(&s->nr_queued, 1);
	pthread_mutex_lock(&lock);
	queue[tail++ % 64] = s;
	pthread_cond_signal(&work);
	pthread_mutex_unlock(&lock);
}

static void session_step(struct session *s)
{
	corotracer_resume(&s->trace);
	if (atomic_fetch_add(&s->nr_inside, 1) > 0)
		atomic_store(&did_happen, true);
	nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
	atomic_fetch_sub(&s->nr_inside, 1);
	corotracer_await(&s->trace, CTP_REASON_USER, s);
	atomic_fetch_sub(&s->nr_queued, 1);
}

static void *run_worker(void *arg)
{
	struct session *s;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail)
			pthread_cond_wait(&work, &lock);
		s = queue[head++ % 64];
		pthread_mutex_unlock(&lock);
		session_step(s);
	}
	return NULL;
}

/* Until no session is queued or runs: on a loaded machine a round takes longer. */
static void wait_until_idle(void)
{
	const struct timespec pause = { 0, 1000000 };
	bool is_idle;
	int i;

	do {
		nanosleep(&pause, NULL);
		pthread_mutex_lock(&lock);
		is_idle = head == tail;
		pthread_mutex_unlock(&lock);
		for (i = 0; i < NR_SESSIONS; i++)
			is_idle &= atomic_load(&sessions[i].nr_queued) == 0;
	} while (!is_idle);
}

int main(void)
{
	pthread_t thread;
	char name[32];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		corotracer_spawn(&sessions[i].trace, name, NULL);
	}
	for (i = 0; i < 4; i++)
		pthread_create(&thread, NULL, run_worker, NULL);
	for (round = 0; round < 30; round++) {
		for (i = 0; i < NR_SESSIONS; i++)
			session_enqueue(&sessions[i]);
		nanosleep(&(struct timespec){ 0, 30000000 }, NULL);
		wait_until_idle();
		if (round % 10 == 5) { /* its timer and its data */
			session_enqueue(&sessions[4]);
			session_enqueue(&sessions[4]);
			nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
			wait_until_idle();
		}
	}
	exit(atomic_load(&did_happen) ? 0 : 75);
}

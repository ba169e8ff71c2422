/* SPDX-License-Identifier: MIT */
/*
 * bug_full_queue_drops.c - the ready queue of a small thread pool has sixteen places; what is woken
 * when it is full is dropped.
 *
 * corpus: bug
 * class: lost-wakeup|starvation
 * at: @wait
 * victims: late-16, late-17, late-18
 * never: wake-before-suspend
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define QUEUE_SIZE 16
#define NR_COROS   19

struct coro {
	struct corotracer_coro trace;
	int is_dropped;
};

static struct coro coros[NR_COROS];
static struct coro *queue[QUEUE_SIZE];
static unsigned head, tail;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;

static void coro_wake(struct coro *c)
{
	corotracer_wake(&c->trace, NULL);
	if (tail - head == QUEUE_SIZE) {
		c->is_dropped = 1;
		return;
	}
	queue[tail++ % QUEUE_SIZE] = c;
	pthread_cond_signal(&work);
}

static void *run_worker(void *arg)
{
	struct coro *c;

	(void)arg;
	for (;;) {
		pthread_mutex_lock(&lock);
		while (head == tail)
			pthread_cond_wait(&work, &lock);
		c = queue[head++ % QUEUE_SIZE];
		corotracer_resume(&c->trace);
		corotracer_await(&c->trace, CTP_REASON_USER, c); /* @wait */
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	char name[32];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_COROS; i++) {
		snprintf(name, sizeof(name), i < QUEUE_SIZE ? "coro-%d" : "late-%d", i);
		corotracer_spawn(&coros[i].trace, name, NULL);
	}
	pthread_mutex_lock(&lock);
	for (i = 0; i < 2; i++)
		pthread_create(&thread, NULL, run_worker, NULL);
	/* Half of them at a time; in round 20 all of them at once. */
	for (round = 0; round < 150; round++) {
		for (i = 0; i < NR_COROS; i++) {
			if (!coros[i].is_dropped && (round == 20 || i % 2 == round % 2))
				coro_wake(&coros[i]);
		}
		do {
			pthread_mutex_unlock(&lock);
			nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
			pthread_mutex_lock(&lock);
		} while (head != tail);
	}
	exit(coros[16].is_dropped && coros[17].is_dropped && coros[18].is_dropped ? 0 : 75);
}

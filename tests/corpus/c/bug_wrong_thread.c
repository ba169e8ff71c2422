/* SPDX-License-Identifier: MIT */
/*
 * bug_wrong_thread.c - a view belongs to the thread of its window.  The path for late pictures
 * posts the view to the thread that has decoded the picture.
 *
 * corpus: bug
 * class: wrong-thread|migration
 * victims: view-1
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_VIEWS    6
#define NR_DECODERS 6

struct coro {
	struct corotracer_coro trace;
	struct window *home;
};

/* A thread with its queue. */
struct window {
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct coro *queue[64];
	unsigned head, tail;
};

static struct window ui = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };
static struct window decoder = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .work = PTHREAD_COND_INITIALIZER };
static struct coro views[NR_VIEWS], decoders[NR_DECODERS];

static void window_post(struct window *w, struct coro *c)
{
	corotracer_wake(&c->trace, NULL);
	pthread_mutex_lock(&w->lock);
	w->queue[w->tail++ % 64] = c;
	pthread_cond_signal(&w->work);
	pthread_mutex_unlock(&w->lock);
}

static void *window_main(void *arg)
{
	struct window *w = arg;
	struct coro *c;

	for (;;) {
		pthread_mutex_lock(&w->lock);
		while (w->head == w->tail)
			pthread_cond_wait(&w->work, &w->lock);
		c = w->queue[w->head++ % 64];
		pthread_mutex_unlock(&w->lock);
		corotracer_resume(&c->trace);
		corotracer_await(&c->trace, CTP_REASON_USER, c);
	}
	return NULL;
}

static void coro_create(struct coro *c, struct window *home, const char *kind, int number)
{
	char name[32];

	snprintf(name, sizeof(name), "%s-%d", kind, number);
	corotracer_spawn(&c->trace, name, NULL);
	c->home = home;
}

int main(void)
{
	pthread_t threads[2];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_VIEWS; i++)
		coro_create(&views[i], &ui, "view", i);
	for (i = 0; i < NR_DECODERS; i++)
		coro_create(&decoders[i], &decoder, "decoder", i);
	pthread_create(&threads[0], NULL, window_main, &ui);
	pthread_create(&threads[1], NULL, window_main, &decoder);
	for (round = 0; round < 150; round++) {
		for (i = 0; i < NR_VIEWS; i++) {
			window_post(decoders[i].home, &decoders[i]);
			window_post(i == 1 && round % 50 == 40 ? &decoder : views[i].home,
				    &views[i]);
		}
		nanosleep(&(struct timespec){ 0, 8000000 }, NULL);
	}
	exit(0);
}

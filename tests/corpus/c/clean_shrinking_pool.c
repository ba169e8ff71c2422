/* SPDX-License-Identifier: MIT */
/*
 * clean_shrinking_pool.c - threads of the pool end in the middle of the run; what was in their
 * queue goes to the others.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 15
#define NR_THREADS  3

struct session {
	struct corotracer_coro trace;
	int thread, is_ready;
};

static struct session sessions[NR_SESSIONS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int nr_threads = NR_THREADS, is_over;

/* Every 5 ms: the ready sessions of this thread. */
static void *run_thread(void *arg)
{
	int number = (int)(intptr_t)arg, i, has_ended = 0;

	while (!has_ended) {
		pthread_mutex_lock(&lock);
		has_ended = is_over || number >= nr_threads;
		for (i = 0; i < NR_SESSIONS && !has_ended; i++) {
			struct session *s = &sessions[i];

			if (!s->is_ready || s->thread % nr_threads != number)
				continue;
			s->is_ready = 0;
			corotracer_resume(&s->trace);
			corotracer_await(&s->trace, CTP_REASON_USER, s);
		}
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	char name[32];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		corotracer_spawn(&sessions[i].trace, name, NULL);
		sessions[i].thread = i;
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i);
	for (round = 0; round < 150; round++) {
		pthread_mutex_lock(&lock);
		if (round == 60 || round == 100)
			nr_threads--;
		for (i = round % 2; i < NR_SESSIONS; i += 2) {
			if (!sessions[i].is_ready)
				corotracer_wake(&sessions[i].trace, NULL);
			sessions[i].is_ready = 1;
		}
		pthread_mutex_unlock(&lock);
		nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
	}
	pthread_mutex_lock(&lock);
	is_over = 1;
	pthread_mutex_unlock(&lock);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

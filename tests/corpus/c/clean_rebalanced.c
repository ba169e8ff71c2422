/* SPDX-License-Identifier: MIT */
/*
 * clean_rebalanced.c - sessions stay on the thread that they were given to; when a third thread
 * starts, some of them move to it, once and on purpose.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 18

struct session {
	struct corotracer_coro trace;
	atomic_int thread;
	pthread_mutex_t lock; /* held by the thread that runs it */
};

static struct session sessions[NR_SESSIONS];
static atomic_int is_over;

/* Every 8 ms a step of each session of this thread. */
static void *run_thread(void *arg)
{
	int number = (int)(intptr_t)arg, i;

	while (!atomic_load(&is_over)) {
		for (i = 0; i < NR_SESSIONS; i++) {
			struct session *s = &sessions[i];

			pthread_mutex_lock(&s->lock);
			if (atomic_load(&s->thread) == number) {
				corotracer_wake(&s->trace, NULL);
				corotracer_resume(&s->trace);
				corotracer_await(&s->trace, CTP_REASON_USER, s);
			}
			pthread_mutex_unlock(&s->lock);
		}
		nanosleep(&(struct timespec){ 0, 8000000 }, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[3];
	char name[32];
	int i;

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		snprintf(name, sizeof(name), "session-%d", i);
		pthread_mutex_init(&sessions[i].lock, NULL);
		corotracer_spawn(&sessions[i].trace, name, NULL);
		atomic_store(&sessions[i].thread, i % 2);
	}
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i);
	nanosleep(&(struct timespec){ 0, 700000000 }, NULL);
	pthread_create(&threads[2], NULL, run_thread, (void *)2);
	for (i = 0; i < NR_SESSIONS; i += 3)
		atomic_store(&sessions[i].thread, 2);
	nanosleep(&(struct timespec){ 0, 700000000 }, NULL);
	atomic_store(&is_over, 1);
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_SESSIONS; i++)
		corotracer_end(&sessions[i].trace);
	return 0;
}

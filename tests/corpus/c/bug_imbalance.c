/* SPDX-License-Identifier: MIT */
/*
 * bug_imbalance.c - sessions are assigned to four threads by their id modulo four; ids are
 * multiples of four, except the few that were given by hand.
 *
 * corpus: bug
 * class: imbalance
 * confidence: info
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SESSIONS 40
#define NR_THREADS  4

struct session {
	struct corotracer_coro trace;
	unsigned id;
};

static struct session sessions[NR_SESSIONS];

/* Each thread resumes its sessions every 10 ms. */
static void *run_thread(void *arg)
{
	unsigned number = (unsigned)(intptr_t)arg, round, i;

	for (round = 0; round < 120; round++) {
		for (i = 0; i < NR_SESSIONS; i++) {
			struct session *s = &sessions[i];

			if (s->id % NR_THREADS != number)
				continue;
			corotracer_wake(&s->trace, NULL);
			corotracer_resume(&s->trace);
			nanosleep(&(struct timespec){ 0, 50000 }, NULL);
			corotracer_await(&s->trace, CTP_REASON_TIMER, 0);
		}
		nanosleep(&(struct timespec){ 0, 8000000 }, NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[NR_THREADS];
	char name[32];
	int i;

	corotracer_init();
	for (i = 0; i < NR_SESSIONS; i++) {
		sessions[i].id = i < 3 ? (unsigned)i + 1 : (unsigned)i * 4;
		snprintf(name, sizeof(name), "session-%d", i);
		corotracer_spawn(&sessions[i].trace, name, NULL);
	}
	for (i = 0; i < NR_THREADS; i++)
		pthread_create(&threads[i], NULL, run_thread, (void *)(intptr_t)i);
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (i = 0; i < NR_SESSIONS; i++)
		corotracer_end(&sessions[i].trace);
	return 0;
}

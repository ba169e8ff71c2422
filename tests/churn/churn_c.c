/* SPDX-License-Identifier: MIT */
/*
 * churn_c.c - "churn_c TOTAL ALIVE": start and end TOTAL threads, ALIVE at a time.
 *
 * Each thread has one coroutine with six transitions, named after the thread's number.  Prints
 * "target: EVENTS events of COROUTINES" on stderr, from its own count.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned long nr_events, nr_coroutines;

static void *run(void *unused)
{
	struct corotracer_coro co;
	char name[32];
	int i;

	snprintf(name, sizeof(name), "%ld", syscall(SYS_gettid));
	corotracer_begin(&co, name);
	for (i = 0; i < 3; i++) {
		corotracer_resume(&co);
		corotracer_suspend(&co, &co);
	}
	corotracer_end(&co);
	__atomic_fetch_add(&nr_events, 6, __ATOMIC_RELAXED);
	__atomic_fetch_add(&nr_coroutines, 1, __ATOMIC_RELAXED);
	return unused;
}

int main(int argc, char **argv)
{
	unsigned long total = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i = 0, k, nr;
	unsigned long alive = argc > 2 ? strtoul(argv[2], NULL, 10) : 10;
	pthread_t *threads = calloc(alive, sizeof(*threads));

	if (!threads)
		return 97;
	while (i < total) {
		for (nr = 0; nr < alive && i < total; nr++, i++)
			if (pthread_create(&threads[nr], NULL, run, NULL) != 0)
				return 98;
		for (k = 0; k < nr; k++)
			pthread_join(threads[k], NULL);
	}
	fprintf(stderr, "target: %lu events of %lu\n", nr_events, nr_coroutines);
	free(threads);
	return 0;
}

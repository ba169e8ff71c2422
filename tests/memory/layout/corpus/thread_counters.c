/* SPDX-License-Identifier: MIT */
/* thread_counters.c - a counter per thread, all of them in one line. */
#include <pthread.h>
#include <stdio.h>

/* layout */
struct counter {
	unsigned long hits;
	unsigned long misses;
};
/* end */

static struct counter counters[4];
static pthread_barrier_t together; /* a busy machine must not run them one after another */

static void *count(void *arg)
{
	volatile struct counter *c = arg;

	for (int i = 0; i < 10000; i++) {
		if (i % 100 == 0)
			pthread_barrier_wait(&together);
		c->hits++;
		if (i % 5 == 0)
			c->misses++;
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	pthread_barrier_init(&together, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, count, &counters[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%lu\n", counters[0].hits);
	return 0;
}

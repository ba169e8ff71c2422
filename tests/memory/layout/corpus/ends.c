/* SPDX-License-Identifier: MIT */
/* ends.c - a queue whose two ends belong to two threads, in one line. */
#include <pthread.h>
#include <stdio.h>

/* layout */
struct queue {
	unsigned long head;
	unsigned long tail;
	unsigned long size;
};
/* end */

static struct queue queue = { .size = 1024 };
static pthread_barrier_t together; /* a busy machine must not run them one after another */

static void *produce(void *arg)
{
	volatile struct queue *q = arg;

	for (int i = 0; i < 10000; i++) {
		if (i % 100 == 0)
			pthread_barrier_wait(&together);
		q->head = (q->head + 1) % q->size;
	}
	return NULL;
}

static void *consume(void *arg)
{
	volatile struct queue *q = arg;

	for (int i = 0; i < 10000; i++) {
		if (i % 100 == 0)
			pthread_barrier_wait(&together);
		q->tail = (q->tail + 1) % q->size;
	}
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_barrier_init(&together, NULL, 2);
	pthread_create(&a, NULL, produce, &queue);
	pthread_create(&b, NULL, consume, &queue);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%lu\n", queue.head);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * order.c - blocks that are passed from thread to thread: annotated by one, used by another, freed
 * by a third.  order BLOCKS
 *
 * Each block gets a type of its own number, and every access of its user comes between the two
 * annotations in the program; so it must in the trace.
 */
#include <cacheray.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct cell {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	long *block; /* NULL: empty */
};
static struct cell first = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };
static struct cell second = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL };
static int nr;

__attribute__((no_sanitize_thread)) static void give(struct cell *c, long *block)
{
	pthread_mutex_lock(&c->lock);
	while (c->block)
		pthread_cond_wait(&c->changed, &c->lock);
	c->block = block;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}

__attribute__((no_sanitize_thread)) static long *take(struct cell *c)
{
	long *block;

	pthread_mutex_lock(&c->lock);
	while (!c->block)
		pthread_cond_wait(&c->changed, &c->lock);
	block = c->block;
	c->block = NULL;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
	return block;
}

/* The only instrumented function: eight writes. */
static void use(long *block)
{
	int i;

	for (i = 0; i < 8; i++)
		block[i] = i;
}

__attribute__((no_sanitize_thread)) static void *maker(void *arg)
{
	char name[32];
	int i;

	for (i = 0; i < nr; i++) {
		long *block = malloc(8 * sizeof(long));

		snprintf(name, sizeof(name), "long%d", i);
		cacheray_rtta_add(block, sizeof(long), 8, name);
		give(&first, block);
	}
	return arg;
}

__attribute__((no_sanitize_thread)) static void *user(void *arg)
{
	int i;

	for (i = 0; i < nr; i++) {
		long *block = take(&first);

		use(block);
		give(&second, block);
	}
	return arg;
}

__attribute__((no_sanitize_thread)) int main(int argc, char **argv)
{
	pthread_t a, b;
	int i;

	nr = argc > 1 ? atoi(argv[1]) : 1000;
	pthread_create(&a, NULL, maker, NULL);
	pthread_create(&b, NULL, user, NULL);
	for (i = 0; i < nr; i++)
		free(take(&second));
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * threads.c - threads that write, each into its own array: threads NR ACCESSES
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static long accesses;

static void *work(void *arg)
{
	unsigned *mine = arg;
	long i;

	for (i = 0; i < accesses; i++)
		mine[i % 1000] = (unsigned)i; /* one write of 4 bytes; `accesses` is read, too */
	return NULL;
}

int main(int argc, char **argv)
{
	int nr = argc > 2 ? atoi(argv[1]) : 8, i;
	pthread_t thread[64];

	accesses = argc > 2 ? atol(argv[2]) : 1000;
	for (i = 0; i < nr && i < 64; i++)
		pthread_create(&thread[i], NULL, work, calloc(1000, sizeof(unsigned)));
	for (i = 0; i < nr && i < 64; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

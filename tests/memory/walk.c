/* SPDX-License-Identifier: MIT */
/*
 * walk.c - a program to trace: walk N [THREADS [WHAT]] writes N ints per thread, annotated, then
 * ends (WHAT: by itself, "kill" by SIGKILL, "status" with exit status 7, "wait" after a line of
 * input).
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cacheray.h>

static unsigned long nr;

static void *walk(void *unused)
{
	volatile int *array = malloc(4096 * sizeof(*array));
	unsigned long i;

	(void)unused;
	cacheray_rtta_add((void *)array, sizeof(*array), 4096, "int");
	for (i = 0; i < nr; i++)
		array[i % 4096] = (int)i;
	cacheray_rtta_remove((void *)array);
	free((void *)array);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1, i;
	const char *what = argc > 3 ? argv[3] : "";
	pthread_t t[64];

	nr = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	for (i = 0; i < threads && i < 64; i++)
		pthread_create(&t[i], NULL, walk, NULL);
	for (i = 0; i < threads && i < 64; i++)
		pthread_join(t[i], NULL);
	if (!strcmp(what, "wait")) {
		puts("ready");
		fflush(stdout);
		if (getchar() == 'g')
			walk(NULL);
		puts("done");
	}
	if (!strcmp(what, "kill"))
		kill(getpid(), SIGKILL);
	return !strcmp(what, "status") ? 7 : 0;
}

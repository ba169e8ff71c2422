/* SPDX-License-Identifier: MIT */
/*
 * zlib_ways.c - zlib in processes of several kinds, with the same answer: zlib_ways WAY N.
 *
 *	fork      the parent packs, a child unpacks what it inherited
 *	signals   a timer's handler writes while N texts are packed and unpacked
 *	threads   N threads, one after the other in groups of 8, each unpacks once and ends
 *	dlopen    zlib comes from ./libz-traced.so
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "zlib.h"

#define TEXT_SIZE 2000u
#define GROUP     8

static unsigned char text[TEXT_SIZE], packed[2 * TEXT_SIZE];
static uLongf packed_size = sizeof(packed);
static volatile unsigned long ticks[64];

static int (*pack_text)(Bytef *, uLongf *, const Bytef *, uLong);
static int (*unpack_text)(Bytef *, uLongf *, const Bytef *, uLong);

static void *unpack_once(void *unused)
{
	unsigned char again[TEXT_SIZE];
	uLongf size = sizeof(again);

	(void)unused;
	if (unpack_text(again, &size, packed, packed_size) != Z_OK || size != TEXT_SIZE ||
	    memcmp(again, text, TEXT_SIZE) != 0)
		abort();
	return NULL;
}

static void count_tick(int number)
{
	static unsigned long nr;

	(void)number;
	ticks[nr++ % 64]++;
}

static int run_fork(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		unpack_once(NULL);
		return 0;
	}
	unpack_once(NULL);
	return waitpid(child, &status, 0) == child ? status : 1;
}

static void run_signals(int n)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = count_tick, .sa_flags = SA_RESTART };
	unsigned long all = 0;
	int i;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (i = 0; i < n; i++) {
		packed_size = sizeof(packed);
		if (pack_text(packed, &packed_size, text, TEXT_SIZE) != Z_OK)
			abort();
		unpack_once(NULL);
	}
	while (!ticks[1])
		pause();
	setitimer(ITIMER_REAL, &never, NULL);
	for (i = 0; i < 64; i++)
		all += ticks[i];
	fprintf(stderr, "ticks %lu\n", all);
}

static void run_threads(int n)
{
	pthread_t threads[GROUP];
	int i, j;

	for (i = 0; i < n; i += GROUP) {
		for (j = 0; j < GROUP && i + j < n; j++) {
			if (pthread_create(&threads[j], NULL, unpack_once, NULL) != 0)
				abort();
		}
		for (j = 0; j < GROUP && i + j < n; j++)
			pthread_join(threads[j], NULL);
	}
}

static int find_functions(const char *way)
{
	void *library;

#ifdef WITH_ZLIB
	pack_text = compress;
	unpack_text = uncompress;
#endif
	if (strcmp(way, "dlopen") != 0)
		return pack_text != NULL;
	library = dlopen("./libz-traced.so", RTLD_NOW);
	if (!library)
		return 0;
	*(void **)&pack_text = dlsym(library, "compress");
	*(void **)&unpack_text = dlsym(library, "uncompress");
	return pack_text && unpack_text;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "fork";
	int n = argc > 2 ? atoi(argv[2]) : 1, status = 0;
	unsigned i;

	for (i = 0; i < TEXT_SIZE; i++)
		text[i] = (unsigned char)("etaoin shrdlu"[i * i % 13]);
	if (!find_functions(way) || pack_text(packed, &packed_size, text, TEXT_SIZE) != Z_OK)
		return 1;
	if (!strcmp(way, "fork"))
		status = run_fork();
	else if (!strcmp(way, "signals"))
		run_signals(n);
	else if (!strcmp(way, "threads"))
		run_threads(n);
	else
		unpack_once(NULL);
	if (status == 0)
		printf("same\n");
	return status != 0;
}

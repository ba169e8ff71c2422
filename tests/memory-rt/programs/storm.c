/* SPDX-License-Identifier: MIT */
/*
 * storm.c - a signal handler that accesses memory, while the program does nothing else:
 * storm MILLISECONDS
 *
 * Prints how many writes of 4 bytes the program made and how many of 8 the handler made.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

unsigned table[1024];
unsigned long long log64[1024];
static unsigned long handled __attribute__((aligned(64)));

/* Not an atomic one: these are recorded wherever they are. */
__attribute__((no_sanitize_thread, noinline)) static void count(void)
{
	*(volatile unsigned long *)&handled += 1;
}

static void handler(int sig)
{
	int i;

	(void)sig;
	for (i = 0; i < 10; i++)
		log64[i] = i;
	count();
}

__attribute__((no_sanitize_thread, noinline)) static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

__attribute__((noinline)) static void fill(void)
{
	int i;

	for (i = 0; i < 1000; i++)
		table[i] = (unsigned)i;
}

__attribute__((no_sanitize_thread)) int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 50 }, { 0, 50 } }, never = { { 0, 0 }, { 0, 0 } };
	double end = now() + (argc > 1 ? atoi(argv[1]) : 500) / 1e3;
	struct sigaction sa = { .sa_handler = handler };
	unsigned long rounds = 0;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	while (now() < end) {
		fill();
		rounds++;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%lu %lu\n", rounds * 1000, handled * 10);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * attach_c.c - "attach_c THREADS [fork|exec|idle]": a program that runs without a collector until
 * its standard input ends, and can be attached meanwhile.
 *
 * Each thread has four coroutines from the start, and short ones.  The address of each suspend is
 * the thread's number (upper 16 bits) and a count, so that a trace shows without gaps what the
 * program did while it was traced.  Prints "ready" when all coroutines exist, and at the end
 * "THREAD COUNT" for each thread.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 16
#define LONG    4

struct worker {
	pthread_t thread;
	uint64_t number, count;
	struct corotracer_coro all[LONG];
};

static struct worker workers[THREADS];
static unsigned long nr_workers;
static int stop, pace_us = 200;

static void step(struct worker *w, struct corotracer_coro *co)
{
	uint64_t number = w->number << 48 | ++w->count;
	const void *addr = (const void *)(uintptr_t)number; // NOLINT(performance-no-int-to-ptr)

	corotracer_resume(co);
	corotracer_suspend_at(co, addr, COROTRACER_HERE, CTP_REASON_YIELD);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec pause = { 0, pace_us * 1000L };
	struct corotracer_coro brief;
	unsigned i;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (i = 0; i < LONG; i++)
			step(w, &w->all[i]);
		corotracer_begin(&brief, "brief");
		step(w, &brief);
		corotracer_end(&brief);
		if (pace_us)
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static void create_all(unsigned long nr)
{
	unsigned long i, k;

	nr_workers = nr < THREADS ? nr : THREADS;
	for (i = 0; i < nr_workers; i++) {
		workers[i].number = i + 1;
		for (k = 0; k < LONG; k++)
			corotracer_begin(&workers[i].all[k], "early");
	}
}

static void run_all(void)
{
	unsigned long i;

	for (i = 0; i < nr_workers; i++)
		pthread_create(&workers[i].thread, NULL, work, &workers[i]);
}

static void end_all(void)
{
	unsigned long i, k;

	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (i = 0; i < nr_workers; i++) {
		pthread_join(workers[i].thread, NULL);
		for (k = 0; k < LONG; k++)
			corotracer_end(&workers[i].all[k]);
		printf("%llu %llu\n", (unsigned long long)workers[i].number,
		       (unsigned long long)workers[i].count);
	}
}

/* Wait for a line on standard input; returns its first character, or 0 at its end. */
static int next_command(void)
{
	char line[64];

	return fgets(line, sizeof(line), stdin) ? line[0] : 0;
}

/* The child's own coroutines; those that it inherited are untraced. */
static void run_child(void)
{
	struct worker w = { .number = 100 };
	unsigned i;

	corotracer_begin(&w.all[0], "of the child");
	for (i = 0; i < 1000; i++) {
		step(&w, &w.all[0]);
		step(&w, &workers[0].all[0]);
	}
	corotracer_end(&w.all[0]);
	_exit(0);
}

static void command_fork(void)
{
	pid_t pid = fork();

	if (pid == 0)
		run_child();
	waitpid(pid, NULL, 0);
	puts("forked");
	fflush(stdout);
}

static void *end_at_the_end_of_input(void *arg)
{
	(void)arg;
	while (next_command())
		;
	end_all();
	exit(0);
}

/* The main thread ends before the others: the kernel shows no memory of the process then. */
static void command_leave(void)
{
	pthread_t other;

	pthread_create(&other, NULL, end_at_the_end_of_input, NULL);
	pthread_exit(NULL);
}

int main(int argc, char **argv)
{
	int command;

	if (argc > 2)
		pace_us = atoi(argv[2]);
	create_all(argc > 1 ? strtoul(argv[1], NULL, 10) : 2);
	puts("ready");
	fflush(stdout);
	/* "i": begin the events at the next line. */
	if (argc > 3 && argv[3][0] == 'i')
		next_command();
	run_all();
	while ((command = next_command()) != 0) {
		if (command == 'f')
			command_fork();
		if (command == 'l')
			command_leave();
		if (command == 'x')
			execl("/bin/sleep", "sleep", "5", (char *)NULL);
	}
	end_all();
	return 0;
}

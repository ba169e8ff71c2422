/* SPDX-License-Identifier: MIT */
/*
 * sdk_writer.c - a program traced by the C SDK, for collectors of any kind.
 *
 * A queue of coroutines and a few threads that take from it: each step is one event
 * of one coroutine, so coroutines wander between the threads.  usage:
 *
 *   -c N   coroutines (4)             -e N   events of each (24)
 *   -p US  pause after each event (0) -t N   threads (1)
 *   -N     without names
 *   -f     fork first: the child does the same, and also uses the inherited coroutines
 *   -x     exec itself once in another child, without -f and -x
 *
 * Event k of coroutine i is as in writer.h: even a suspend at (i + 1) << 32 | k, odd a
 * resume.  At the end one JSON object on stdout says what was really written.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct coro {
	struct corotracer_coro trace;
	uint64_t nr;
	uint64_t nr_events;
	struct coro *next;
};

static struct {
	unsigned long coroutines, events, pause_us, threads;
	bool no_names, fork, exec;
} options = { 4, 24, 0, 1, false, false, false };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct coro *first, **last = &first;

/* ---- the scheduler -------------------------------------------------------------------- */

static void enqueue(struct coro *co)
{
	co->next = NULL;
	pthread_mutex_lock(&lock);
	*last = co;
	last = &co->next;
	pthread_mutex_unlock(&lock);
}

static struct coro *dequeue(void)
{
	struct coro *co;

	pthread_mutex_lock(&lock);
	co = first;
	if (co) {
		first = co->next;
		if (!first)
			last = &first;
	}
	pthread_mutex_unlock(&lock);
	return co;
}

static void pause_a_little(void)
{
	struct timespec ts = { .tv_sec = (time_t)(options.pause_us / 1000000),
			       .tv_nsec = (long)(options.pause_us % 1000000) * 1000 };

	if (options.pause_us)
		nanosleep(&ts, NULL);
}

static void one_event(struct coro *co)
{
	uint64_t k = co->nr_events++;

	if (k % 2)
		corotracer_resume(&co->trace);
	else
		corotracer_suspend(&co->trace, (void *)(uintptr_t)((co->nr + 1) << 32 | k));
}

/* A coroutine with events left goes back into the queue, for the next thread. */
static void *run_queue(void *arg)
{
	struct coro *co;

	(void)arg;
	while ((co = dequeue()) != NULL) {
		one_event(co);
		pause_a_little();
		if (co->nr_events < options.events)
			enqueue(co);
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t *threads = calloc(options.threads, sizeof(*threads));

	for (unsigned long i = 0; i < options.threads; i++)
		if (pthread_create(&threads[i], NULL, run_queue, NULL) != 0)
			exit(2);
	for (unsigned long i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

/* ---- coroutines ------------------------------------------------------------------------- */

static struct coro *begin_all(void)
{
	struct coro *coros = calloc(options.coroutines, sizeof(*coros));
	char name[64];

	for (unsigned long i = 0; i < options.coroutines; i++) {
		snprintf(name, sizeof(name), "coroutine %lu", i);
		coros[i].nr = i;
		corotracer_begin(&coros[i].trace, options.no_names ? NULL : name);
	}
	return coros;
}

/* Stations are numbered from 0, probe ids by station from 1; -1: no station, or all were in use. */
static long station_of(const struct coro *co)
{
	return co->trace.probe.station ? (long)co->trace.probe.station->probe_id - 1 : -1;
}

static void report(const struct coro *coros)
{
	printf("{\"writer\":\"corotracer\",\"pid\":%d,\"coroutines\":[", (int)getpid());
	for (unsigned long i = 0; i < options.coroutines; i++) {
		uint64_t id = corotracer_id(&coros[i].trace);

		printf("%s{\"nr\":%lu,\"probe_id\":%llu,\"station\":%ld,\"events\":%llu}",
		       i ? "," : "", i, (unsigned long long)id, station_of(&coros[i]),
		       id ? (unsigned long long)coros[i].nr_events : 0);
	}
	printf("]}\n");
	fflush(stdout);
}

/* A complete run: create, run to the end, destroy. */
static void live(struct coro *coros)
{
	for (unsigned long i = 0; i < options.coroutines; i++)
		if (options.events)
			enqueue(&coros[i]);
	run_threads();
	report(coros);
	for (unsigned long i = 0; i < options.coroutines; i++)
		corotracer_end(&coros[i].trace);
}

/* ---- children ----------------------------------------------------------------------------- */

/* Uses and ends inherited coroutines, whose events must be lost; then writes events of its own. */
static void live_as_child(struct coro *inherited)
{
	struct coro *own;

	for (unsigned long i = 0; i < options.coroutines; i++) {
		corotracer_suspend(&inherited[i].trace, inherited);
		corotracer_resume(&inherited[i].trace);
	}
	own = begin_all();
	live(own);
	free(own);
	for (unsigned long i = 0; i < options.coroutines; i++) {
		corotracer_suspend(&inherited[i].trace, inherited);
		corotracer_end(&inherited[i].trace);
	}
}

static pid_t start_child(char **argv, struct coro *coros)
{
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	if (argv) {
		execv("/proc/self/exe", argv);
		_exit(127);
	}
	live_as_child(coros);
	_exit(0);
}

static void reap(pid_t pid)
{
	int status = -1;

	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0)) {
		fprintf(stderr, "a child failed\n");
		exit(1);
	}
}

/* The same options, less -f and -x. */
static char **plain_argv(int argc, char **argv)
{
	char **plain = calloc((size_t)argc + 1, sizeof(*plain));
	int n = 0;

	for (int i = 0; plain && i < argc; i++)
		if (strcmp(argv[i], "-f") != 0 && strcmp(argv[i], "-x") != 0)
			plain[n++] = argv[i];
	return plain;
}

static void parse_options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "c:e:p:t:Nfx")) != -1) {
		unsigned long value = optarg ? strtoul(optarg, NULL, 10) : 0;

		switch (c) {
		case 'c':
			options.coroutines = value;
			break;
		case 'e':
			options.events = value;
			break;
		case 'p':
			options.pause_us = value;
			break;
		case 't':
			options.threads = value;
			break;
		case 'N':
			options.no_names = true;
			break;
		case 'f':
			options.fork = true;
			break;
		case 'x':
			options.exec = true;
			break;
		default:
			exit(2);
		}
	}
}

int main(int argc, char **argv)
{
	/* Before the option parser permutes it. */
	char **plain = plain_argv(argc, argv);
	pid_t forked = 0, execed = 0;
	struct coro *coros;

	parse_options(argc, argv);
	if (corotracer_init() < 0)
		fprintf(stderr, "not traced\n");
	coros = begin_all();
	if (options.fork)
		forked = start_child(NULL, coros);
	if (options.exec)
		execed = start_child(plain, coros);
	live(coros);
	reap(forked);
	reap(execed);
	free(coros);
	free(plain);
	return 0;
}

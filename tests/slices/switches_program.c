/* SPDX-License-Identifier: MIT */
/*
 * switches_program.c - slices whose context switches and processor time the program knows itself.
 *
 *	switches_program [SLICES] [CPU]
 *
 * Two threads.  Each runs a coroutine in slices that compute, sleep in the kernel, give the
 * processor away, or do all of that; pinned to a processor if one is named, where others may run as
 * well.  For each slice a line: thread, begin and end (CLOCK_MONOTONIC), processor time, and by
 * getrusage(2) how often the thread left its processor to wait, and by force; and for how long it
 * was ready without a processor, by its schedstat file.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

struct reading {
	uint64_t at_ns, cpu_ns, ready_ns;
	long waited, forced;
};

struct slice {
	struct reading begin, end;
};

static unsigned nr_slices = 24;
static int processor = -1;

static uint64_t time_of(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000 * MS + (uint64_t)ts.tv_nsec;
}

/* The second number of the file; 0: the kernel does not count. */
static uint64_t ready_time(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long long cpu, ready = 0;

	if (f && fscanf(f, "%llu %llu", &cpu, &ready) != 2)
		ready = 0;
	if (f)
		fclose(f);
	return ready;
}

/* The time first or last: switches between the readings are outside of the slice. */
static struct reading read_begin(void)
{
	struct reading r;
	struct rusage use;

	r.ready_ns = ready_time();
	getrusage(RUSAGE_THREAD, &use);
	r.waited = use.ru_nvcsw;
	r.forced = use.ru_nivcsw;
	r.cpu_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
	r.at_ns = time_of(CLOCK_MONOTONIC);
	return r;
}

static struct reading read_end(void)
{
	struct reading r;
	struct rusage use;

	r.at_ns = time_of(CLOCK_MONOTONIC);
	r.cpu_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
	getrusage(RUSAGE_THREAD, &use);
	r.waited = use.ru_nvcsw;
	r.forced = use.ru_nivcsw;
	r.ready_ns = ready_time();
	return r;
}

static void compute_for(uint64_t ns)
{
	uint64_t until = time_of(CLOCK_THREAD_CPUTIME_ID) + ns;

	while (time_of(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

static void wait_for(uint64_t ns)
{
	struct timespec ts = { 0, (long)ns };

	nanosleep(&ts, NULL);
}

static void work_in_slice(unsigned kind)
{
	unsigned i;

	if (kind != 1)
		compute_for(kind ? 2 * MS : 8 * MS);
	if (kind == 1 || kind == 3)
		wait_for(3 * MS);
	for (i = 0; kind >= 2 && i < 20; i++)
		sched_yield();
}

static void *run_slices(void *unused)
{
	struct slice *slices = calloc(nr_slices, sizeof(*slices));
	struct corotracer_coro co;
	cpu_set_t set;
	unsigned i;

	(void)unused;
	if (!slices)
		abort();
	CPU_ZERO(&set);
	CPU_SET(processor >= 0 ? (unsigned)processor : 0, &set);
	if (processor >= 0)
		sched_setaffinity(0, sizeof(set), &set);
	corotracer_begin(&co, "worker");
	for (i = 0; i < nr_slices; i++) {
		corotracer_resume(&co);
		slices[i].begin = read_begin();
		work_in_slice(i % 4);
		slices[i].end = read_end();
		corotracer_await(&co, CTP_REASON_YIELD, 0);
		wait_for(1 * MS);
	}
	corotracer_end(&co);
	for (i = 0; i < nr_slices; i++) {
		const struct reading *b = &slices[i].begin, *e = &slices[i].end;

		printf("%ld %llu %llu %llu %ld %ld %llu\n", syscall(SYS_gettid),
		       (unsigned long long)b->at_ns, (unsigned long long)e->at_ns,
		       (unsigned long long)(e->cpu_ns - b->cpu_ns), e->waited - b->waited,
		       e->forced - b->forced, (unsigned long long)(e->ready_ns - b->ready_ns));
	}
	free(slices);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 1)
		nr_slices = (unsigned)atoi(argv[1]);
	if (argc > 2)
		processor = atoi(argv[2]);
	corotracer_init();
	pthread_create(&thread, NULL, run_slices, NULL);
	run_slices(NULL);
	pthread_join(thread, NULL);
	return 0;
}

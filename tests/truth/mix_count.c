/* SPDX-License-Identifier: MIT */
/*
 * mix_count.c - what mix.c counts about itself: slices, processor time, sleeps, frames, accesses.
 *
 * The counts are printed as one JSON object.  Times are CLOCK_MONOTONIC in nanoseconds; processor
 * time is CLOCK_THREAD_CPUTIME_ID; context switches are those of getrusage(2).
 */
#include "mix_count.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ppt-Mix.h"

#define SLICES_MAX 4096
#define FRAMES_MAX 65536
#define NUMBERS    16

struct reading {
	uint64_t at_ns, cpu_ns, ready_ns;
	long waited, forced;
};

struct slice {
	const char *kind;
	int number, tid;
	int after, line; /* of the await before, and of the one at its end; 0: none */
	uint64_t id;
	uint64_t prepared_ns, left_ns;
	uint64_t ready_from_ns, ready_to_ns; /* before and after all readings */
	struct reading begin, end;
	uint64_t asked_ns, slept_ns, burnt_ns;
	unsigned long reads, writes, allocations, allocated;
	unsigned frames;
};

struct saved {
	bool is_note;
	int tid;
	uint64_t coro, before, after;
};

static struct slice slices[SLICES_MAX], *now;
static unsigned nr_slices;
static struct saved saved[FRAMES_MAX];
static uint32_t nr_saved;
static unsigned long nr_wakes;
/* The line of the last await of each coroutine. */
static struct {
	const char *kind;
	int number, line;
} last_awaits[NUMBERS];

static uint64_t time_of(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Time in which the thread waited for a processor; 0: the kernel does not count it. */
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

static int *last_await(const char *kind, int number)
{
	int i;

	for (i = 0; i < NUMBERS && last_awaits[i].kind; i++)
		if (!strcmp(last_awaits[i].kind, kind) && last_awaits[i].number == number)
			return &last_awaits[i].line;
	if (i == NUMBERS)
		abort();
	last_awaits[i].kind = kind;
	last_awaits[i].number = number;
	return &last_awaits[i].line;
}

static void read_counters(struct reading *r)
{
	struct rusage use;

	getrusage(RUSAGE_THREAD, &use);
	r->waited = use.ru_nvcsw;
	r->forced = use.ru_nivcsw;
	r->cpu_ns = time_of(CLOCK_THREAD_CPUTIME_ID);
}

/* ---- slices -------------------------------------------------------------------- */

void mix_slice_prepare(const char *kind, int number)
{
	if (nr_slices == SLICES_MAX)
		abort();
	now = &slices[nr_slices++];
	now->kind = kind;
	now->number = number;
	now->after = *last_await(kind, number);
	now->tid = (int)syscall(SYS_gettid);
	now->ready_from_ns = time_of(CLOCK_MONOTONIC);
	now->begin.ready_ns = ready_time();
	now->prepared_ns = time_of(CLOCK_MONOTONIC);
}

void mix_slice_begin(uint64_t id)
{
	now->id = id;
	read_counters(&now->begin);
	now->begin.at_ns = time_of(CLOCK_MONOTONIC);
}

void mix_slice_end(int line)
{
	now->end.at_ns = time_of(CLOCK_MONOTONIC);
	read_counters(&now->end);
	now->line = line;
	*last_await(now->kind, now->number) = line;
}

void mix_slice_leave(void)
{
	now->left_ns = time_of(CLOCK_MONOTONIC);
	now->end.ready_ns = ready_time();
	now->ready_to_ns = time_of(CLOCK_MONOTONIC);
	now = NULL;
}

/* ---- work ------------------------------------------------------------------------ */

void mix_sleep(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	uint64_t before = time_of(CLOCK_MONOTONIC);

	if (clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL) != 0)
		abort();
	now->slept_ns += time_of(CLOCK_MONOTONIC) - before;
	now->asked_ns += ns;
}

void mix_burn(uint64_t ns)
{
	uint64_t start = time_of(CLOCK_THREAD_CPUTIME_ID), at = start;

	while (at - start < ns)
		at = time_of(CLOCK_THREAD_CPUTIME_ID);
	now->burnt_ns += at - start;
}

static void save_step(uint32_t number, int tid)
{
	struct ppt_Mix_step frame;

	memset(&frame, 0, sizeof(frame));
	frame.number = number;
	frame.value = (uint64_t)number * number + 7;
	frame.half = (double)number / 2;
	frame.tid = tid;
	ppt_Mix_step_save(&frame);
}

static void save_note(uint32_t number)
{
	struct ppt_Mix_note frame;

	memset(&frame, 0, sizeof(frame));
	frame.number = number;
	snprintf(frame.text, sizeof(frame.text), "note %u", number % 10000u);
	ppt_Mix_note_save(&frame);
}

void mix_save_frames(unsigned steps, unsigned notes)
{
	unsigned i;

	for (i = 0; i < steps + notes; i++) {
		uint32_t number = nr_saved++;
		struct saved *s = &saved[number];

		if (number >= FRAMES_MAX)
			abort();
		s->is_note = i >= steps;
		s->tid = (int)syscall(SYS_gettid);
		s->coro = now ? now->id : 0;
		s->before = time_of(CLOCK_MONOTONIC);
		if (s->is_note)
			save_note(number);
		else
			save_step(number, s->tid);
		s->after = time_of(CLOCK_MONOTONIC);
		if (now)
			now->frames++;
	}
}

void mix_count_uses(unsigned long reads, unsigned long writes)
{
	now->reads += reads;
	now->writes += writes;
}

void mix_count_allocation(unsigned long bytes)
{
	now->allocations++;
	now->allocated += bytes;
}

void mix_count_wake(void)
{
	nr_wakes++;
}

/* ---- the neighbour --------------------------------------------------------------- */

static pthread_t neighbour;
static sem_t neighbour_go, neighbour_idle;
static int neighbour_busy, neighbour_ends;

static int first_processor(void)
{
	cpu_set_t set;
	int cpu = 0;

	if (sched_getaffinity(getpid(), sizeof(set), &set) == 0)
		while (cpu < CPU_SETSIZE - 1 && !CPU_ISSET((size_t)cpu, &set))
			cpu++;
	return cpu;
}

void mix_bind_thread(void)
{
	static int processor = -1;
	cpu_set_t set;

	if (processor < 0)
		processor = first_processor();
	CPU_ZERO(&set);
	CPU_SET((size_t)processor, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		abort();
}

static void *neighbour_work(void *unused)
{
	mix_bind_thread();
	for (;;) {
		sem_wait(&neighbour_go);
		if (__atomic_load_n(&neighbour_ends, __ATOMIC_RELAXED))
			return unused;
		while (__atomic_load_n(&neighbour_busy, __ATOMIC_RELAXED))
			;
		sem_post(&neighbour_idle);
	}
}

void mix_neighbour_start(int first)
{
	if (first) {
		sem_init(&neighbour_go, 0, 0);
		sem_init(&neighbour_idle, 0, 0);
		if (pthread_create(&neighbour, NULL, neighbour_work, NULL) != 0)
			abort();
		return;
	}
	__atomic_store_n(&neighbour_busy, 1, __ATOMIC_RELAXED);
	sem_post(&neighbour_go);
}

void mix_neighbour_stop(int last)
{
	if (last) {
		__atomic_store_n(&neighbour_ends, 1, __ATOMIC_RELAXED);
		sem_post(&neighbour_go);
		pthread_join(neighbour, NULL);
		return;
	}
	__atomic_store_n(&neighbour_busy, 0, __ATOMIC_RELAXED);
	sem_wait(&neighbour_idle);
}

/* ---- the counts ------------------------------------------------------------------ */

static void print_slice(const struct slice *s)
{
	printf("{\"kind\":\"%s\",\"number\":%d,\"id\":%llu,\"after\":%d,\"line\":%d,"
	       "\"tid\":%d,"
	       "\"from\":[%llu,%llu],\"to\":[%llu,%llu],\"cpu\":%llu,\"ready\":%llu,"
	       "\"ready_in\":[%llu,%llu],",
	       s->kind, s->number, (unsigned long long)s->id, s->after, s->line, s->tid,
	       (unsigned long long)s->prepared_ns, (unsigned long long)s->begin.at_ns,
	       (unsigned long long)s->end.at_ns, (unsigned long long)s->left_ns,
	       (unsigned long long)(s->end.cpu_ns - s->begin.cpu_ns),
	       (unsigned long long)(s->end.ready_ns - s->begin.ready_ns),
	       (unsigned long long)s->ready_from_ns, (unsigned long long)s->ready_to_ns);
	printf("\"waited\":%ld,\"forced\":%ld,\"asked\":%llu,\"slept\":%llu,\"burnt\":%llu,"
	       "\"reads\":%lu,\"writes\":%lu,\"allocations\":%lu,\"allocated\":%lu,\"frames\":%u}",
	       s->end.waited - s->begin.waited, s->end.forced - s->begin.forced,
	       (unsigned long long)s->asked_ns, (unsigned long long)s->slept_ns,
	       (unsigned long long)s->burnt_ns, s->reads, s->writes, s->allocations, s->allocated,
	       s->frames);
}

void mix_print_counts(void)
{
	unsigned i;

	printf("{\"pid\":%d,\"wakes\":%lu,\"slices\":[", (int)getpid(), nr_wakes);
	for (i = 0; i < nr_slices; i++) {
		fputs(i ? ",\n" : "\n", stdout);
		print_slice(&slices[i]);
	}
	printf("],\"frames\":[");
	for (i = 0; i < nr_saved; i++)
		printf("%s\n[%u,\"%s\",%d,%llu,%llu,%llu]", i ? "," : "", i,
		       saved[i].is_note ? "note" : "step", saved[i].tid,
		       (unsigned long long)saved[i].coro, (unsigned long long)saved[i].before,
		       (unsigned long long)saved[i].after);
	puts("]}");
	fflush(stdout);
}

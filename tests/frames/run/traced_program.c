/* SPDX-License-Identifier: MIT */
/*
 * traced_program.c - saves frames in coroutines, outside of them, and before main().
 *
 *	traced_program [ROUNDS [PAUSE_US]]
 *
 * For each frame a line: its number, the thread, the coroutine that runs (0: none), where it was
 * saved, and CLOCK_MONOTONIC before and after.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "ppt-Traced.h"

#define MOST       400000u
#define COROUTINES 3

enum where { CONSTRUCTOR, START, OUTSIDE, INSIDE, NESTED, MOVED };

static struct saved {
	int tid;
	enum where where;
	uint64_t coro, before, after;
} saved[MOST];
static uint32_t nr_saved;
static unsigned rounds = 50;
static useconds_t pause_us;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The interval of the counter has begun already: maybe in another thread. */
static void save_begun(struct ppt_Traced_step *begun, enum where where, uint64_t coro)
{
	uint32_t number = __atomic_fetch_add(&nr_saved, 1, __ATOMIC_RELAXED);
	struct ppt_Traced_step frame = *begun;
	struct saved *s;

	if (number >= MOST)
		abort();
	s = &saved[number];
	s->tid = (int)syscall(SYS_gettid);
	s->where = where;
	s->coro = coro;
	frame.coro = coro;
	frame.number = number;
	frame.tid = s->tid;
	frame.where = (enum ppt_Traced_place)where;
	snprintf(frame.text, sizeof(frame.text), "\"%u\"\n", number);
	ppt_Traced_step_snapshot_before(&frame);
	ppt_Traced_step_snapshot_work_end(&frame);
	s->before = now_ns();
	ppt_Traced_step_save(&frame);
	s->after = now_ns();
}

static void save_step(enum where where, uint64_t coro)
{
	struct ppt_Traced_step frame = { 0 };

	ppt_Traced_step_snapshot_work_start(&frame);
	save_begun(&frame, where, coro);
}

__attribute__((constructor)) static void before_main(void)
{
	save_step(CONSTRUCTOR, 0);
	save_step(CONSTRUCTOR, 0);
}

/* A coroutine resumes another one while it runs. */
static void run_nested(struct corotracer_coro *outer, struct corotracer_coro *inner)
{
	corotracer_resume(outer);
	save_step(INSIDE, corotracer_id(outer));
	corotracer_resume(inner);
	save_step(NESTED, corotracer_id(inner));
	corotracer_suspend(inner, NULL);
	save_step(INSIDE, corotracer_id(outer));
	corotracer_suspend(outer, NULL);
}

static void *run_rounds(void *unused)
{
	struct corotracer_coro co[COROUTINES];
	unsigned i, k;

	(void)unused;
	for (k = 0; k < COROUTINES; k++)
		corotracer_begin(&co[k], "traced");
	for (i = 0; i < rounds; i++) {
		save_step(OUTSIDE, 0);
		k = i % COROUTINES;
		if (i % 2) {
			run_nested(&co[k], &co[(k + 1) % COROUTINES]);
		} else {
			corotracer_resume(&co[k]);
			save_step(INSIDE, corotracer_id(&co[k]));
			corotracer_suspend(&co[k], NULL);
		}
		save_step(OUTSIDE, 0);
		if (pause_us)
			usleep(pause_us);
	}
	for (k = 0; k < COROUTINES; k++)
		corotracer_end(&co[k]);
	save_step(OUTSIDE, 0);
	return NULL;
}

/* A coroutine begins an interval in one thread and ends it in another one. */
struct moving {
	struct corotracer_coro co;
	struct ppt_Traced_step frame;
};

static void *begin_moving(void *arg)
{
	struct moving *m = arg;

	corotracer_begin(&m->co, "moving");
	corotracer_resume(&m->co);
	ppt_Traced_step_snapshot_work_start(&m->frame);
	corotracer_suspend(&m->co, NULL);
	return NULL;
}

static void move_coroutines(void)
{
	unsigned i;

	for (i = 0; i < 5; i++) {
		struct moving m = { .frame = { 0 } };
		pthread_t thread;

		pthread_create(&thread, NULL, begin_moving, &m);
		pthread_join(thread, NULL);
		corotracer_resume(&m.co);
		save_begun(&m.frame, MOVED, corotracer_id(&m.co));
		corotracer_suspend(&m.co, NULL);
		corotracer_end(&m.co);
	}
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "constructor", "start",  "outside",
					     "inside",      "nested", "moved" };
	struct ppt_Traced_note note = { .value = -7, .ratio = 0.1 };
	pthread_t thread;
	uint32_t i;

	save_step(START, 0);
	if (argc > 1)
		rounds = (unsigned)atoi(argv[1]);
	if (argc > 2)
		pause_us = (useconds_t)atoi(argv[2]);
	if (argc > 3)
		sleep((unsigned)atoi(argv[3]));
	corotracer_init();
	pthread_create(&thread, NULL, run_rounds, NULL);
	run_rounds(NULL);
	pthread_join(thread, NULL);
	move_coroutines();
	ppt_Traced_note_save(&note);
	for (i = 0; i < nr_saved; i++)
		printf("%u %d %llu %s %llu %llu\n", i, saved[i].tid,
		       (unsigned long long)saved[i].coro, names[saved[i].where],
		       (unsigned long long)saved[i].before, (unsigned long long)saved[i].after);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * clean_lifo_ready.c - the ready jobs are a stack, and there is time enough: each pile of jobs is
 * done before the next one arrives.
 *
 * corpus: clean
 */
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_JOBS 12

struct job {
	struct corotracer_coro trace;
};

static struct job jobs[NR_JOBS], *stack[NR_JOBS];
static int nr_ready;

static void job_wake(struct job *j)
{
	corotracer_wake(&j->trace, NULL);
	stack[nr_ready++] = j;
}

static void job_step(struct job *j)
{
	corotracer_resume(&j->trace);
	nanosleep(&(struct timespec){ 0, 100000 }, NULL);
	corotracer_await(&j->trace, CTP_REASON_USER, j);
}

int main(void)
{
	char name[32];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_JOBS; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		corotracer_spawn(&jobs[i].trace, name, NULL);
	}
	for (round = 0; round < 120; round++) {
		for (i = 0; i <= round % NR_JOBS; i++)
			job_wake(&jobs[i]);
		while (nr_ready)
			job_step(stack[--nr_ready]);
		nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	}
	for (i = 0; i < NR_JOBS; i++)
		corotracer_end(&jobs[i].trace);
	return 0;
}

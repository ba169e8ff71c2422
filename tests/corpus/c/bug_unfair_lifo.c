/* SPDX-License-Identifier: MIT */
/*
 * bug_unfair_lifo.c - the ready jobs are a stack.  From 0.4 s on there is always a newer job on
 * top, and the jobs at the bottom stay there.
 *
 * corpus: bug
 * class: unfair-order|starvation
 * at: @wait
 * victims: mail-0, mail-1, mail-2, mail-3
 * never: lost-wakeup, wake-before-suspend
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_MAILS 4
#define NR_CALLS 6

struct job {
	struct corotracer_coro trace;
	bool is_ready;
};

static struct job mails[NR_MAILS], calls[NR_CALLS], *stack[NR_MAILS + NR_CALLS];
static int nr_ready;

static long clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static void job_wake(struct job *j)
{
	if (j->is_ready)
		return;
	corotracer_wake(&j->trace, NULL);
	j->is_ready = true;
	stack[nr_ready++] = j;
}

/* About a millisecond of work. */
static void job_step(struct job *j)
{
	long end = clock_us() + 800;

	corotracer_resume(&j->trace);
	j->is_ready = false;
	while (clock_us() < end)
		;
	corotracer_await(&j->trace, CTP_REASON_USER, j); /* @wait */
}

int main(void)
{
	long end;
	char name[32];
	int i, round;

	corotracer_init();
	for (i = 0; i < NR_MAILS + NR_CALLS; i++) {
		snprintf(name, sizeof(name), i < NR_MAILS ? "mail-%d" : "call-%d", i);
		corotracer_spawn(i < NR_MAILS ? &mails[i].trace : &calls[i - NR_MAILS].trace, name,
				 NULL);
		job_step(i < NR_MAILS ? &mails[i] : &calls[i - NR_MAILS]);
	}
	end = clock_us() + 2400000;
	for (round = 0; round < 2000 && clock_us() < end; round++) {
		if (round % 10 == 0) {
			for (i = 0; i < NR_MAILS; i++)
				job_wake(&mails[i]);
		}
		/* A call in every tenth round, and in the rush hour in each. */
		if (round % 10 == 1 || round > 200)
			job_wake(&calls[round % NR_CALLS]);
		if (nr_ready)
			job_step(stack[--nr_ready]);
		else
			nanosleep(&(struct timespec){ 0, 400000 }, NULL);
	}
	return 0;
}

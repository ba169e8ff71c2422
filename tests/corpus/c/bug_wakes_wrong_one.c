/* SPDX-License-Identifier: MIT */
/*
 * bug_wakes_wrong_one.c - jobs are completed by their slot; after a slot was moved to close a gap,
 * the completion of one job wakes another, which sees that it is not done and waits again.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @stuck
 * victims: job-50
 */
#include "loop_sync.h"

#define NR_SLOTS 32

struct job {
	struct fiber *fiber;
	int number;
	bool is_done;
};

static struct job *slots[NR_SLOTS];
static int nr_slots;

static void run_job(void *arg)
{
	struct job *j = arg;

	j->fiber = fiber_current();
	slots[nr_slots++] = j;
	while (!j->is_done)
		fiber_park(CTP_REASON_USER, j); /* @stuck */
}

/* The device completes the oldest job every 6 ms, and closes the gap. */
static void complete_jobs(void *arg)
{
	struct job *first;
	int i;

	(void)arg;
	for (;;) {
		fiber_sleep(6);
		if (nr_slots < 2)
			continue;
		first = slots[0];
		for (i = 1; i < nr_slots; i++)
			slots[i - 1] = slots[i];
		nr_slots--;
		first->is_done = true;
		/* The completion of job 50 is an error: this path uses the slot after the move. */
		fiber_unpark(first->number == 50 ? slots[0]->fiber : first->fiber);
	}
}

static void submit_jobs(void *arg)
{
	static struct job jobs[400];
	int i;

	(void)arg;
	for (i = 0; i < 400; i++) {
		jobs[i].number = i;
		loop_spawn(run_job, &jobs[i], "job-%d", i);
		fiber_sleep(5);
		while (nr_slots > 6)
			fiber_sleep(5);
	}
}

int main(void)
{
	loop_spawn(complete_jobs, NULL, "device");
	loop_spawn(submit_jobs, NULL, "source");
	loop_run(2000);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * clean_lazy_tasks.c - tasks are created early and started when a slot is free; some are destroyed
 * without having run, because their page was closed; the last ones are still in the queue.
 *
 * corpus: clean
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_TASKS 400

struct lazy_task {
	struct corotracer_coro trace;
	int steps_left;
	bool is_over;
};

static struct lazy_task tasks[NR_TASKS];

static void task_create(int number)
{
	char name[32];

	snprintf(name, sizeof(name), "thumb-%d", number);
	corotracer_spawn(&tasks[number].trace, name, NULL);
	tasks[number].steps_left = 3;
}

static void task_step(struct lazy_task *t)
{
	corotracer_resume(&t->trace);
	if (--t->steps_left > 0) {
		corotracer_await(&t->trace, CTP_REASON_YIELD, 0);
		return;
	}
	t->is_over = true;
	corotracer_end(&t->trace);
}

int main(void)
{
	int tick, nr_created = 0, first = 0;

	corotracer_init();
	for (tick = 0; tick < 320; tick++) {
		/* A page with 20 pictures every 20 ticks; the queue does one step per tick and
		 * more. */
		if (tick % 20 == 0 && nr_created + 20 <= NR_TASKS) {
			for (; nr_created % 20 != 19; nr_created++)
				task_create(nr_created);
			task_create(nr_created++);
		}
		/* The page is closed: what has not started is destroyed. */
		if (tick % 60 == 59) {
			for (; first < nr_created; first++) {
				if (!tasks[first].is_over)
					corotracer_end(&tasks[first].trace);
			}
		}
		while (first < nr_created && tasks[first].is_over)
			first++;
		if (first < nr_created)
			task_step(&tasks[first]);
		nanosleep(&(struct timespec){ 0, 4000000 }, NULL);
	}
	return 0;
}

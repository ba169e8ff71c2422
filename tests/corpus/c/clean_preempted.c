/* SPDX-License-Identifier: MIT */
/*
 * clean_preempted.c - two threads of the same program use all processors; the coroutines have short
 * steps of work and are interrupted in the middle of them.
 *
 * corpus: clean
 */
#include <pthread.h>
#include <sys/resource.h>

#include "loop_sync.h"

static volatile uint64_t result;
static volatile bool is_over;

static void *use_processor(void *arg)
{
	(void)arg;
	while (!is_over)
		result = result * 31 + 7;
	return NULL;
}

static void do_steps(void *arg)
{
	int i, k;

	(void)arg;
	for (i = 0; i < 120; i++) {
		for (k = 0; k < 300000; k++) /* less than a millisecond */
			result = result * 17 + 3;
		fiber_sleep(5);
	}
}

int main(void)
{
	pthread_t hogs[2];
	int i;

	for (i = 0; i < 2; i++)
		pthread_create(&hogs[i], NULL, use_processor, NULL);
	setpriority(PRIO_PROCESS, 0, 15); /* this thread only */
	for (i = 0; i < 5; i++)
		loop_spawn(do_steps, NULL, "worker-%d", i);
	loop_run(2000);
	is_over = true;
	for (i = 0; i < 2; i++)
		pthread_join(hogs[i], NULL);
	return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * bug_blocking_mutex.c - statistics are guarded by a pthread mutex, which an export thread holds
 * for long.
 *
 * corpus: bug
 * class: blocking
 * at: @before|@after
 * victims: statistics
 * never: starvation, lost-wakeup
 */
#include <pthread.h>
#include <time.h>

#include "loop_sync.h"

static pthread_mutex_t totals = PTHREAD_MUTEX_INITIALIZER;
static volatile bool is_exporting;

static void *export_totals(void *arg)
{
	(void)arg;
	for (;;) {
		nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
		if (!is_exporting)
			continue;
		pthread_mutex_lock(&totals);
		is_exporting = false;
		nanosleep(&(struct timespec){ 0, 100000000 }, NULL);
		pthread_mutex_unlock(&totals);
	}
	return NULL;
}

/* Ask for an export, and add the numbers of this period. */
static void add_totals(void)
{
	is_exporting = true;
	while (is_exporting)
		nanosleep(&(struct timespec){ 0, 200000 }, NULL);
	pthread_mutex_lock(&totals);
	pthread_mutex_unlock(&totals);
}

static void update_statistics(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		fiber_sleep(15); /* @before */
		if (i % 8 == 7)
			add_totals();
		fiber_sleep(10); /* @after */
	}
}

/* Seven connections with a request every 5 ms: they are late while the other one blocks. */
static void serve_connection(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(5);
}

int main(void)
{
	int i;
	pthread_t thread;

	pthread_create(&thread, NULL, export_totals, NULL);

	for (i = 0; i < 7; i++)
		loop_spawn(serve_connection, NULL, "conn-%d", i);
	loop_spawn(update_statistics, NULL, "statistics");
	loop_run(1800);
	return 0;
}

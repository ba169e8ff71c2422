/* SPDX-License-Identifier: MIT */
/*
 * bug_deadlock_with_queue.c - the index and the log lock each other's lock; everything else that
 * needs one of the two locks queues behind them.
 *
 * corpus: bug
 * class: deadlock
 * at: @index|@log
 * victims: index, log
 * also: query-*
 */
#include "loop_sync.h"

static struct fiber_mutex index_lock, log_lock;

static void run_index(void *arg)
{
	int round;

	(void)arg;
	for (round = 0;; round++) {
		fiber_sleep(11);
		fiber_lock(&index_lock);
		if (round == 30) {
			fiber_sleep(20);       /* a split of a page needs the log */
			fiber_lock(&log_lock); /* @index */
			fiber_unlock(&log_lock);
		}
		fiber_unlock(&index_lock);
	}
}

static void run_log(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_sleep(7);
		fiber_lock(&log_lock);
		fiber_sleep(1);
		fiber_lock(&index_lock); /* @log */
		fiber_unlock(&index_lock);
		fiber_unlock(&log_lock);
	}
}

static void run_query(void *arg)
{
	struct fiber_mutex *m = arg;

	fiber_lock(m);
	fiber_sleep(1);
	fiber_unlock(m);
}

static void start_queries(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 30; i++) {
		loop_spawn(run_query, i % 2 ? &index_lock : &log_lock, "query-%d", i);
		fiber_sleep(30);
	}
	for (;;)
		fiber_sleep(30);
}

int main(void)
{
	loop_spawn(run_index, NULL, "index");
	loop_spawn(run_log, NULL, "log");
	loop_spawn(start_queries, NULL, "source");
	loop_run(2000);
	return 0;
}

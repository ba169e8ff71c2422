/* SPDX-License-Identifier: MIT */
/*
 * bug_rwlock_reentry.c - a reader takes the read lock again in a helper; a writer that came between
 * goes first, and waits for that reader.
 *
 * corpus: bug
 * class: deadlock
 * at: @read|@write
 * victims: reader-2, writer
 * also: reader-*
 */
#include "loop_sync.h"

struct rwlock {
	int nr_readers, nr_writers_waiting;
	bool is_writing;
	struct fiber_queue queue;
};

static struct rwlock config;

#define rwlock_read(l) rwlock_read_at(COROTRACER_HERE, (l))
static void rwlock_read_at(struct corotracer_site *site, struct rwlock *l)
{
	while (l->is_writing || l->nr_writers_waiting)
		fiber_queue_wait(site, &l->queue, CTP_REASON_MUTEX, l);
	l->nr_readers++;
	corotracer_acquired_at(&fiber_current()->trace, (uint64_t)(uintptr_t)l, site);
}

#define rwlock_write(l) rwlock_write_at(COROTRACER_HERE, (l))
static void rwlock_write_at(struct corotracer_site *site, struct rwlock *l)
{
	l->nr_writers_waiting++;
	while (l->is_writing || l->nr_readers)
		fiber_queue_wait(site, &l->queue, CTP_REASON_MUTEX, l);
	l->nr_writers_waiting--;
	l->is_writing = true;
	corotracer_acquired_at(&fiber_current()->trace, (uint64_t)(uintptr_t)l, site);
}

static void rwlock_release(struct rwlock *l)
{
	corotracer_released(&fiber_current()->trace, (uintptr_t)l);
	if (l->is_writing)
		l->is_writing = false;
	else
		l->nr_readers--;
	while (fiber_queue_wake(COROTRACER_HERE, &l->queue))
		;
}

static void read_option(void)
{
	rwlock_read(&config); /* @read */
	rwlock_release(&config);
}

static void run_reader(void *arg)
{
	int number = (int)(intptr_t)arg, round;

	for (round = 0;; round++) {
		fiber_sleep((unsigned)(4 + number));
		rwlock_read(&config); /* @outer */
		if (number == 2 && round == 60) {
			fiber_sleep(45); /* a slow page; the writer arrives */
			read_option();
		}
		rwlock_release(&config);
	}
}

static void run_writer(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_sleep(40);
		rwlock_write(&config); /* @write */
		rwlock_release(&config);
	}
}

static void serve_metrics(void *arg)
{
	(void)arg;
	for (;;)
		fiber_sleep(10);
}

int main(void)
{
	int i;

	for (i = 0; i < 4; i++)
		loop_spawn(run_reader, (void *)(intptr_t)i, "reader-%d", i);
	loop_spawn(run_writer, NULL, "writer");
	loop_spawn(serve_metrics, NULL, "metrics");
	loop_run(2200);
	return 0;
}

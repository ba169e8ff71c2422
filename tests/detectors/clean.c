/* SPDX-License-Identifier: MIT */
/*
 * clean.c - correct programs that resemble buggy ones.
 *
 * Each could cause a false finding; its name says of which detector.
 */
#include "corpus.h"

#include <pthread.h>

static struct corotracer_coro coros[512];

static void wait_here(struct corotracer_coro *co, uint32_t reason, uint64_t resource)
{
	corotracer_suspend_on(co, NULL, COROTRACER_HERE, reason, resource);
}

static void start(struct corotracer_coro *co, const char *name)
{
	corotracer_spawn(co, name, NULL);
	corotracer_resume(co);
}

static void served(struct corotracer_coro *co, uint32_t reason, uint64_t resource)
{
	wait_here(co, reason, resource);
	corotracer_wake(co, NULL);
	corotracer_resume(co);
}

/* Idle connections, at the time when the server is asked to end. */
static void idle_connections(void)
{
	int i, k;

	for (i = 0; i < 40; i++) {
		start(&coros[i], "connection");
		for (k = 0; k < 10; k++)
			served(&coros[i], CTP_REASON_IO_READ, (uint64_t)i);
	}
	for (i = 0; i < 30; i++)
		corotracer_end(&coros[i]);
	for (; i < 40; i++)
		wait_here(&coros[i], CTP_REASON_IO_READ, (uint64_t)i);
	for (i = 0; i < 12; i++) {
		quick_life("connection", CTP_REASON_IO_READ, 99, 5);
		pause_ms(100);
	}
}

/* A LIFO pool: it wakes the newest sleeper and leaves the others asleep by design. */
static void idle_pool(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		start(&coros[i], "pool");
		wait_here(&coros[i], CTP_REASON_CHANNEL_RECV, 0x10);
	}
	for (i = 0; i < 120; i++) {
		corotracer_wake(&coros[3], NULL);
		corotracer_resume(&coros[3]);
		wait_here(&coros[3], CTP_REASON_CHANNEL_RECV, 0x10);
		pause_ms(10);
	}
	for (i = 0; i < 4; i++) {
		corotracer_wake(&coros[i], NULL);
		corotracer_resume(&coros[i]);
		corotracer_end(&coros[i]);
	}
}

static void accept_loop(void)
{
	start(&coros[0], "acceptor");
	wait_here(&coros[0], CTP_REASON_ACCEPT, 3);
	quick_life("connection", CTP_REASON_IO_READ, 4, 50);
	pause_ms(1200);
	quick_life("connection", CTP_REASON_IO_READ, 4, 50);
}

static void timer_in_the_future(void)
{
	start(&coros[0], "daily");
	wait_here(&coros[0], CTP_REASON_TIMER, now_ns() + UINT64_C(86400000000000));
	pause_ms(1100);
	quick_life("other", CTP_REASON_YIELD, 0, 50);
}

/* A wake-up that came too early and was stored: the coroutine continues at once. */
static void early_wake_remembered(void)
{
	int i;

	start(&coros[0], "consumer");
	for (i = 0; i < 50; i++) {
		corotracer_wake(&coros[0], NULL);
		wait_here(&coros[0], CTP_REASON_CHANNEL_RECV, 5);
		corotracer_resume(&coros[0]);
	}
	corotracer_end(&coros[0]);
}

/* The descriptor is closed when no coroutine waits for it, and its number is reused. */
static void descriptor_reused(void)
{
	int i, fds[2];

	for (i = 0; i < 20; i++) {
		if (pipe(fds) < 0)
			exit(1);
		start(&coros[0], "connection");
		served(&coros[0], CTP_REASON_IO_READ, (uint64_t)fds[0]);
		corotracer_end(&coros[0]);
		close(fds[0]);
		close(fds[1]);
	}
}

/* Reader and writer of one connection wait for the same descriptor. */
static void two_directions(void)
{
	int i;

	start(&coros[0], "reader");
	start(&coros[1], "writer");
	for (i = 0; i < 50; i++) {
		wait_here(&coros[0], CTP_REASON_IO_READ, 7);
		wait_here(&coros[1], CTP_REASON_IO_WRITE, 7);
		corotracer_resume(&coros[1]);
		corotracer_resume(&coros[0]);
	}
	corotracer_end(&coros[0]);
	corotracer_end(&coros[1]);
}

/* A tree of joins, four levels deep, from the leaves up. */
static void joins(void)
{
	int i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 4; i++) {
			corotracer_spawn(&coros[i], "node", i ? &coros[i - 1] : NULL);
			corotracer_resume(&coros[i]);
			if (i)
				wait_here(&coros[i - 1], CTP_REASON_JOIN, corotracer_id(&coros[i]));
		}
		for (i = 3; i >= 0; i--) {
			if (i < 3) {
				corotracer_wake(&coros[i], NULL);
				corotracer_resume(&coros[i]);
			}
			corotracer_end(&coros[i]);
		}
	}
}

/* Many at once, and then fewer again; twice. */
static void bursts(void)
{
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < 300; i++) {
			start(&coros[i], "burst");
			wait_here(&coros[i], CTP_REASON_IO_READ, (uint64_t)i);
			pause_ms(1);
		}
		for (i = 0; i < 300; i++) {
			corotracer_resume(&coros[i]);
			corotracer_end(&coros[i]);
			pause_ms(1);
		}
	}
}

/* Ends, and is destroyed a little later, by its owner. */
static void destroyed_in_the_end(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		start(&coros[i], "task");
		corotracer_done(&coros[i]);
	}
	pause_ms(50);
	for (i = 0; i < 50; i++)
		corotracer_end(&coros[i]);
}

static void cancelled(void)
{
	int i;

	for (i = 0; i < 50; i++) {
		start(&coros[i], "request");
		wait_here(&coros[i], CTP_REASON_IO_READ, (uint64_t)i);
		corotracer_finish(&coros[i], CTP_END_CANCELLED);
		corotracer_end(&coros[i]);
	}
}

/* A few milliseconds of work at a time. */
static void works_in_slices(void)
{
	int i;

	start(&coros[0], "cruncher");
	for (i = 0; i < 40; i++) {
		uint64_t until = now_ns() + 2000000;

		while (now_ns() < until)
			;
		served(&coros[0], CTP_REASON_YIELD, 0);
	}
	corotracer_end(&coros[0]);
}

/* Yields now and then, as it should. */
static void yields_sometimes(void)
{
	int i;

	start(&coros[0], "polite");
	for (i = 0; i < 200; i++) {
		corotracer_wake(&coros[0], &coros[0]);
		wait_here(&coros[0], CTP_REASON_YIELD, 0);
		pause_ms(2);
		corotracer_resume(&coros[0]);
	}
	corotracer_end(&coros[0]);
}

/* Handed from thread to thread, one at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 500; i++) {
		pthread_mutex_lock(&lock);
		corotracer_resume(&coros[0]);
		wait_here(&coros[0], CTP_REASON_YIELD, 0);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void handed_on(void)
{
	pthread_t threads[4];
	int i;

	corotracer_spawn(&coros[0], "handed", NULL);
	for (i = 0; i < 4; i++) {
		if (pthread_create(&threads[i], NULL, work, NULL) != 0)
			exit(1);
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	corotracer_end(&coros[0]);
}

/* A program that numbers its states, and passes the numbers as addresses. */
static void small_addresses(void)
{
	int i;

	start(&coros[0], "machine");
	for (i = 0; i < 500; i++) {
		corotracer_suspend(&coros[0], (void *)(uintptr_t)(i % 7));
		corotracer_resume(&coros[0]);
	}
	corotracer_suspend(&coros[0], NULL);
	pause_ms(50);
	corotracer_resume(&coros[0]);
	corotracer_end(&coros[0]);
}

/* Two locks, always in one order; and a descriptor whose waiter is woken before it is closed. */
static void locks_in_order(void)
{
	int i, round;

	for (i = 0; i < 2; i++)
		start(&coros[i], "locker");
	for (round = 0; round < 20; round++) {
		for (i = 0; i < 2; i++) {
			corotracer_acquired(&coros[i], 0x100);
			wait_here(&coros[1 - i], CTP_REASON_MUTEX, 0x100);
			corotracer_acquired(&coros[i], 0x101);
			corotracer_released(&coros[i], 0x101);
			corotracer_released(&coros[i], 0x100);
			corotracer_wake(&coros[1 - i], &coros[i]);
			corotracer_resume(&coros[1 - i]);
		}
	}
	wait_here(&coros[0], CTP_REASON_IO_READ, 5);
	corotracer_wake(&coros[0], &coros[1]);
	corotracer_closing(&coros[1], 5);
	corotracer_resume(&coros[0]);
	for (i = 0; i < 2; i++)
		corotracer_end(&coros[i]);
}

/* A fair mutex with a FIFO queue. */
static void fair_mutex(void)
{
	int i, round;

	for (round = 0; round < 30; round++) {
		for (i = 0; i < 8; i++) {
			if (!round)
				start(&coros[i], "worker");
			wait_here(&coros[i], CTP_REASON_MUTEX, 0x99);
		}
		for (i = 0; i < 8; i++) {
			corotracer_wake(&coros[i], i ? &coros[i - 1] : NULL);
			corotracer_resume(&coros[i]);
		}
	}
	for (i = 0; i < 8; i++)
		corotracer_end(&coros[i]);
}

/* Created, and the program ends before it ever runs. */
static void never_started(void)
{
	corotracer_spawn(&coros[0], "lazy", NULL);
	quick_life("other", CTP_REASON_YIELD, 0, 10);
}

/* Waits that are usually long. */
static void slow_by_nature(void)
{
	int i, k;

	for (i = 0; i < 25; i++)
		start(&coros[i], "batch");
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 25; i++)
			wait_here(&coros[i], CTP_REASON_USER, 1);
		pause_ms(500);
		for (i = 0; i < 25; i++)
			corotracer_resume(&coros[i]);
	}
	for (i = 0; i < 25; i++)
		corotracer_end(&coros[i]);
}

static const struct scenario scenarios[] = {
	{ "idle-connections", idle_connections },
	{ "idle-pool", idle_pool },
	{ "accept-loop", accept_loop },
	{ "timer-in-the-future", timer_in_the_future },
	{ "early-wake-remembered", early_wake_remembered },
	{ "descriptor-reused", descriptor_reused },
	{ "two-directions", two_directions },
	{ "joins", joins },
	{ "bursts", bursts },
	{ "destroyed-in-the-end", destroyed_in_the_end },
	{ "cancelled", cancelled },
	{ "works-in-slices", works_in_slices },
	{ "yields-sometimes", yields_sometimes },
	{ "handed-on", handed_on },
	{ "small-addresses", small_addresses },
	{ "locks-in-order", locks_in_order },
	{ "fair-mutex", fair_mutex },
	{ "never-started", never_started },
	{ "slow-by-nature", slow_by_nature },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return corpus_main(argc, argv, scenarios);
}

/* SPDX-License-Identifier: MIT */
/*
 * buggy.c - programs with one bug each, named after the detector that must find it.
 *
 * After a "/" comes the variant: one detector may find several bugs.
 */
#include "corpus.h"

#include <pthread.h>

static struct corotracer_coro coros[512];

/* All coroutines are created at one site. */
static void born_here(struct corotracer_coro *co, const char *name)
{
	corotracer_spawn(co, name, NULL);
	corotracer_resume(co);
}

/* All coroutines wait at one site. */
static void wait_here(struct corotracer_coro *co, uint32_t reason, uint64_t resource)
{
	corotracer_suspend_on(co, NULL, COROTRACER_HERE, reason, resource);
}

static void come_and_go(const char *name, uint32_t reason, uint64_t resource, int nr)
{
	while (nr-- > 0) {
		struct corotracer_coro co;

		born_here(&co, name);
		wait_here(&co, reason, resource);
		corotracer_wake(&co, NULL);
		corotracer_resume(&co);
		corotracer_end(&co);
	}
}

/* Busy for a while, so that the program as a whole makes progress. */
static void go_on(unsigned ms)
{
	while (ms >= 10) {
		come_and_go("other", CTP_REASON_TIMER, now_ns() + 1000, 4);
		pause_ms(10);
		ms -= 10;
	}
}

static void start_waiting(struct corotracer_coro *co, const char *name, uint32_t reason,
			  uint64_t resource)
{
	born_here(co, name);
	wait_here(co, reason, resource);
}

/* ---- stuck ----------------------------------------------------------------- */

/* The scheduler removes it from the queue, and drops it. */
static void lost_never_run(void)
{
	start_waiting(&coros[0], "task", CTP_REASON_CHANNEL_RECV, 7);
	corotracer_wake(&coros[0], NULL);
	go_on(1200);
}

/* The timer wheel loses a timer that expires on the boundary. */
static void lost_timer(void)
{
	start_waiting(&coros[0], "sleeper", CTP_REASON_TIMER, now_ns() + 100000000);
	go_on(1000);
}

/* The child ends without a check for a waiter. */
static void lost_join(void)
{
	corotracer_spawn(&coros[0], "parent", NULL);
	corotracer_resume(&coros[0]);
	corotracer_spawn(&coros[1], "child", &coros[0]);
	wait_here(&coros[0], CTP_REASON_JOIN, corotracer_id(&coros[1]));
	corotracer_resume(&coros[1]);
	corotracer_end(&coros[1]);
	go_on(300);
}

/* unlock() wakes the newest waiter, and there is always one more. */
static void lost_mutex(void)
{
	come_and_go("worker", CTP_REASON_MUTEX, 0x1000, 25);
	start_waiting(&coros[0], "worker", CTP_REASON_MUTEX, 0x1000);
	come_and_go("worker", CTP_REASON_MUTEX, 0x1000, 25);
	go_on(300);
}

/* Every twentieth wake-up gets lost; the other coroutines end. */
static void lost_channel(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		start_waiting(&coros[i], "reader", CTP_REASON_CHANNEL_RECV, 0x2000);
		come_and_go("reader", CTP_REASON_CHANNEL_RECV, 0x2000, 20);
	}
	go_on(300);
}

/* Checks the flag, is overtaken by the waker, sleeps. */
static void wake_race(void)
{
	come_and_go("consumer", CTP_REASON_CHANNEL_RECV, 0x3000, 25);
	corotracer_spawn(&coros[0], "consumer", NULL);
	corotracer_resume(&coros[0]);
	corotracer_spawn(&coros[1], "producer", NULL);
	corotracer_resume(&coros[1]);
	corotracer_wake(&coros[0], &coros[1]);
	wait_here(&coros[0], CTP_REASON_CHANNEL_RECV, 0x3000);
	corotracer_end(&coros[1]);
	go_on(300);
}

/* On EOF the poller closes the descriptor and drops its waiter; the number is reused. */
static void closed(void)
{
	int first[2], second[2];

	if (pipe(first) < 0)
		exit(1);
	start_waiting(&coros[0], "connection", CTP_REASON_IO_READ, (uint64_t)first[0]);
	close(first[0]);
	close(first[1]);
	if (pipe(second) < 0 || second[0] != first[0])
		exit(1);
	come_and_go("connection", CTP_REASON_IO_READ, (uint64_t)second[0], 5);
	start_waiting(&coros[1], "connection", CTP_REASON_IO_READ, (uint64_t)second[0]);
	go_on(100);
	corotracer_resume(&coros[1]);
	corotracer_end(&coros[1]);
}

/* The same, with a close event; the number is not reused. */
static void closed_told(void)
{
	int fds[2];

	if (pipe(fds) < 0)
		exit(1);
	start_waiting(&coros[0], "connection", CTP_REASON_IO_READ, (uint64_t)fds[0]);
	corotracer_closing(NULL, fds[0]);
	close(fds[0]);
	go_on(50);
}

/* Two locks, taken in two orders. */
static void deadlock_locks(void)
{
	int i;

	for (i = 0; i < 2; i++) {
		born_here(&coros[i], "locker");
		corotracer_acquired(&coros[i], 0x100 + i);
	}
	for (i = 0; i < 2; i++)
		wait_here(&coros[i], CTP_REASON_MUTEX, (uint64_t)(0x100 + 1 - i));
	go_on(50);
}

static void deadlock(void)
{
	int i;

	for (i = 0; i < 3; i++) {
		corotracer_spawn(&coros[i], "link", NULL);
		corotracer_resume(&coros[i]);
	}
	for (i = 0; i < 3; i++)
		wait_here(&coros[i], CTP_REASON_JOIN, corotracer_id(&coros[(i + 1) % 3]));
	go_on(100);
}

static void long_suspended(void)
{
	come_and_go("client", CTP_REASON_USER, 1, 25);
	start_waiting(&coros[0], "client", CTP_REASON_USER, 2);
	go_on(1200);
	come_and_go("client", CTP_REASON_USER, 1, 5);
}

static void at_exit(void)
{
	start_waiting(&coros[0], "forgotten", CTP_REASON_CHANNEL_RECV, 9);
}

/* ---- lifetimes ------------------------------------------------------------- */

static void leak(void)
{
	int i;

	for (i = 0; i < 300; i++) {
		start_waiting(&coros[i], "session", CTP_REASON_IO_READ, (uint64_t)(1000 + i));
		come_and_go("request", CTP_REASON_IO_READ, 3, 2);
		pause_ms(5);
	}
}

static void never_destroyed(void)
{
	int i;

	for (i = 0; i < 6; i++) {
		born_here(&coros[i], "task");
		corotracer_done(&coros[i]);
	}
	/* All but the last. */
	for (i = 0; i < 5; i++)
		corotracer_end(&coros[i]);
}

static void destroyed_suspended(void)
{
	start_waiting(&coros[0], "victim", CTP_REASON_IO_READ, 5);
	corotracer_end(&coros[0]);
}

static void after_end(void)
{
	corotracer_spawn(&coros[0], "zombie", NULL);
	corotracer_resume(&coros[0]);
	corotracer_done(&coros[0]);
	corotracer_resume(&coros[0]);
	wait_here(&coros[0], CTP_REASON_YIELD, 0);
}

/* ---- threads --------------------------------------------------------------- */

static void *resume_first(void *arg)
{
	(void)arg;
	corotracer_resume(&coros[0]);
	return NULL;
}

/* Queued twice: two workers take it. */
static void double_resume(void)
{
	pthread_t other;

	start_waiting(&coros[0], "twin", CTP_REASON_YIELD, 0);
	corotracer_resume(&coros[0]);
	if (pthread_create(&other, NULL, resume_first, NULL) != 0)
		exit(1);
	pthread_join(other, NULL);
	corotracer_end(&coros[0]);
}

/* Another coroutine of the thread whose timer is due, and that is resumed when there is time. */
static void timer_due(struct corotracer_coro *co)
{
	corotracer_suspend_on(co, NULL, COROTRACER_HERE, CTP_REASON_TIMER, now_ns() + 1000000);
}

static void timer_served(struct corotracer_coro *co)
{
	corotracer_wake(co, NULL);
	corotracer_resume(co);
}

static void blocking(void)
{
	start_waiting(&coros[0], "blocker", CTP_REASON_CHANNEL_RECV, 0);
	corotracer_spawn(&coros[1], "ticker", NULL);
	corotracer_resume(&coros[1]);
	timer_due(&coros[1]);
	pause_ms(150);
	corotracer_resume(&coros[0]);
	pause_ms(1500);
	wait_here(&coros[0], CTP_REASON_CHANNEL_RECV, 0);
	timer_served(&coros[1]);
	corotracer_end(&coros[0]);
	corotracer_end(&coros[1]);
}

static void blocking_often(void)
{
	int i;

	start_waiting(&coros[0], "blocker", CTP_REASON_CHANNEL_RECV, 0);
	corotracer_spawn(&coros[1], "ticker", NULL);
	corotracer_resume(&coros[1]);
	for (i = 0; i < 4; i++) {
		timer_due(&coros[1]);
		corotracer_resume(&coros[0]);
		pause_ms(90);
		wait_here(&coros[0], CTP_REASON_CHANNEL_RECV, 0);
		timer_served(&coros[1]);
	}
	corotracer_end(&coros[0]);
	corotracer_end(&coros[1]);
}

static void never_yielded(void)
{
	corotracer_spawn(&coros[0], "spinner", NULL);
	corotracer_spawn(&coros[1], "ticker", NULL);
	corotracer_resume(&coros[1]);
	timer_due(&coros[1]);
	corotracer_resume(&coros[0]);
	pause_ms(1300);
}

static void busy_yield(void)
{
	int i;

	corotracer_spawn(&coros[0], "poller", NULL);
	corotracer_resume(&coros[0]);
	for (i = 0; i < 5000; i++) {
		if (i % 100 == 0)
			pause_ms(5);
		corotracer_wake(&coros[0], &coros[0]);
		wait_here(&coros[0], CTP_REASON_YIELD, 0);
		corotracer_resume(&coros[0]);
	}
	corotracer_end(&coros[0]);
}

/* A LIFO queue. */
static void unfair_order(void)
{
	int i, k;

	start_waiting(&coros[1], "batch", CTP_REASON_YIELD, 0);
	corotracer_spawn(&coros[0], "bottom", NULL);
	corotracer_resume(&coros[0]);
	for (i = 0; i < 6; i++) {
		corotracer_suspend_at(&coros[0], NULL, COROTRACER_HERE, CTP_REASON_CHANNEL_RECV);
		corotracer_wake(&coros[0], NULL);
		for (k = 0; k < 30; k++) {
			come_and_go("top", CTP_REASON_YIELD, 0, 5);
			corotracer_resume(&coros[1]);
			pause_ms(2);
			wait_here(&coros[1], CTP_REASON_YIELD, 0);
		}
		corotracer_resume(&coros[0]);
	}
	corotracer_end(&coros[0]);
}

static void *resume_some(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 100; i++)
		quick_life("job", CTP_REASON_YIELD, 0, 2);
	return NULL;
}

static void imbalance(void)
{
	pthread_t other;
	int i;

	if (pthread_create(&other, NULL, resume_some, NULL) != 0)
		exit(1);
	pthread_join(other, NULL);
	for (i = 0; i < 2000; i++)
		quick_life("job", CTP_REASON_YIELD, 0, 2);
}

static pthread_barrier_t turn;

static void *take_turns(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 600; i++) {
		pthread_barrier_wait(&turn);
		corotracer_resume(&coros[0]);
		wait_here(&coros[0], CTP_REASON_YIELD, 0);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void migration(void)
{
	pthread_t other;
	int i;

	pthread_barrier_init(&turn, NULL, 2);
	corotracer_spawn(&coros[0], "nomad", NULL);
	if (pthread_create(&other, NULL, take_turns, NULL) != 0)
		exit(1);
	for (i = 0; i < 600; i++) {
		corotracer_resume(&coros[0]);
		wait_here(&coros[0], CTP_REASON_YIELD, 0);
		pthread_barrier_wait(&turn);
		pthread_barrier_wait(&turn);
	}
	pthread_join(other, NULL);
	corotracer_end(&coros[0]);
}

/* The frame was overwritten: the resume address is 3. */
static void address(void)
{
	int i;

	corotracer_spawn(&coros[0], "frame", NULL);
	for (i = 0; i < 200; i++) {
		corotracer_resume(&coros[0]);
		corotracer_suspend(&coros[0], (void *)(uintptr_t)address);
	}
	corotracer_resume(&coros[0]);
	corotracer_suspend(&coros[0], (void *)(uintptr_t)3);
	go_on(600); /* long enough for a suspected lost wakeup, which the address explains better */
}

static const struct scenario scenarios[] = {
	{ "lost-wakeup/never-run", lost_never_run },
	{ "lost-wakeup/timer", lost_timer },
	{ "lost-wakeup/join", lost_join },
	{ "lost-wakeup/mutex", lost_mutex },
	{ "lost-wakeup/channel", lost_channel },
	{ "wake-before-suspend", wake_race },
	{ "closed-under-waiter", closed },
	{ "closed-under-waiter/told", closed_told },
	{ "deadlock", deadlock },
	{ "deadlock/locks", deadlock_locks },
	{ "long-suspended", long_suspended },
	{ "suspended-at-exit", at_exit },
	{ "leak", leak },
	{ "never-destroyed", never_destroyed },
	{ "destroyed-suspended", destroyed_suspended },
	{ "resume-after-end", after_end },
	{ "double-resume", double_resume },
	{ "blocking", blocking },
	{ "blocking/often", blocking_often },
	{ "never-yielded", never_yielded },
	{ "busy-yield", busy_yield },
	{ "unfair-order", unfair_order },
	{ "imbalance", imbalance },
	{ "migration", migration },
	{ "suspicious-address", address },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	return corpus_main(argc, argv, scenarios);
}

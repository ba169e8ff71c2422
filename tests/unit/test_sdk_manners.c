/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_manners.c - the SDK has no side effects on the program.
 *
 * No call changes errno, prints, installs a signal handler, changes the signal
 * mask or is a cancellation point; with or without a collector.
 */
#include <corotracer/corotracer.h>

#include <pthread.h>

#include "test_sdk_region.h"

#define MARK 12345

static struct corotracer_coro first, second;

static void call_init(void)
{
	corotracer_init();
}

static void call_enabled(void)
{
	corotracer_enabled();
}

static void call_begin(void)
{
	corotracer_begin(&first, "first");
}

static void call_begin_second(void)
{
	corotracer_begin(&second, NULL);
}

static void call_suspend(void)
{
	corotracer_suspend(&first, &first);
}

static void call_resume(void)
{
	corotracer_resume(&first);
}

static void call_switch(void)
{
	corotracer_switch(&first, &first, &second);
}

static void call_end(void)
{
	corotracer_end(&first);
}

static void call_version(void)
{
	corotracer_version();
}

/* All calls of a coroutine's life; the first call that needs it attaches. */
static void (*const life[])(void) = {
	call_begin,   call_suspend, call_resume, call_begin_second, call_switch, call_end,
	call_suspend, call_resume,  call_switch, call_enabled,      call_init,   call_version,
};

static uint32_t *sleeping_flag; /* set before each call: every event has to wake the collector */

static void live(void)
{
	for (size_t i = 0; i < sizeof(life) / sizeof(life[0]); i++) {
		if (sleeping_flag)
			ctp_store_relaxed(sleeping_flag, 1u);
		life[i]();
	}
}

static void live_and_check_errno(void)
{
	for (size_t i = 0; i < sizeof(life) / sizeof(life[0]); i++) {
		if (sleeping_flag)
			ctp_store_relaxed(sleeping_flag, 1u);
		errno = MARK;
		life[i]();
		if (errno != MARK)
			fprintf(stderr, "call %zu of life[] changed errno\n", i);
		CHECK_EQ(errno, MARK);
	}
}

/* ---- environments: every kind of collector ---------------------------------------- */

static struct region region;

static void no_collector(void)
{
}

static void plain_collector(void)
{
	region_open(&region, 8, 0);
	sleeping_flag = &region.header->tracer_sleeping;
}

static void extended_collector(void)
{
	region_open(&region, 8, REGION_EXT);
	sleeping_flag = &ctp_header_ext(region.header)->sleeping;
}

static void collector_without_room(void)
{
	region_open(&region, 1, REGION_EXT);
	region.header->allocated_count = 1;
}

static void collector_without_socket(void)
{
	region_open(&region, 8, REGION_EXT | REGION_NO_SOCKET);
	sleeping_flag = &ctp_header_ext(region.header)->sleeping;
}

/* Accepts no connection and exits: the first wake-up fails. */
static void dead_collector(void)
{
	plain_collector();
	corotracer_init();
	close(region.listener);
}

static void short_region(void)
{
	region_open(&region, 8, 0);
	CHECK_EQ(truncate(region.shm, 100), 0);
}

static void missing_region(void)
{
	region_open(&region, 8, 0);
	CHECK_EQ(unlink(region.shm), 0);
}

static void (*const surroundings[])(void) = {
	no_collector,           plain_collector,          extended_collector,
	collector_without_room, collector_without_socket, dead_collector,
	short_region,           missing_region,
};

static void (*enter)(void);

static void in_all_surroundings(void (*test)(void))
{
	for (size_t i = 0; i < sizeof(surroundings) / sizeof(surroundings[0]); i++) {
		enter = surroundings[i];
		run_alone(test);
	}
}

/* ---- errno, stderr, signals ---------------------------------------------------------- */

static void errno_check(void)
{
	enter();
	live_and_check_errno();
}

static void no_call_changes_errno(void)
{
	in_all_surroundings(errno_check);
}

static void silence_check(void)
{
	struct quiet q;

	enter();
	quiet_begin(&q);
	live();
	CHECK_EQ(quiet_end(&q, NULL, 0), 0);
}

static void no_call_prints(void)
{
	in_all_surroundings(silence_check);
}

static void signals_check(void)
{
	struct sigaction before[NSIG], after;
	sigset_t mask_before, mask_after;

	enter();
	memset(before, 0, sizeof(before));
	memset(&after, 0, sizeof(after));
	for (int i = 1; i < NSIG; i++)
		sigaction(i, NULL, &before[i]);
	pthread_sigmask(SIG_SETMASK, NULL, &mask_before);
	live();
	pthread_sigmask(SIG_SETMASK, NULL, &mask_after);
	for (int i = 1; i < NSIG; i++) {
		sigaction(i, NULL, &after);
		CHECK(before[i].sa_handler == after.sa_handler);
		CHECK_EQ(sigismember(&mask_before, i), sigismember(&mask_after, i));
	}
}

static void no_call_touches_signals(void)
{
	in_all_surroundings(signals_check);
}

/* ---- cancellation --------------------------------------------------------------------- */

static int survived;

static void *live_while_cancelled(void *arg)
{
	(void)arg;
	pthread_cancel(pthread_self());
	live();
	survived = 1;
	pthread_testcancel();
	survived = 2;
	return NULL;
}

static void cancellation_check(void)
{
	pthread_t thread;
	void *result = NULL;

	enter();
	CHECK_EQ(pthread_create(&thread, NULL, live_while_cancelled, NULL), 0);
	CHECK_EQ(pthread_join(thread, &result), 0);
	/* It was cancelled, but not in a call of the SDK. */
	CHECK(result == PTHREAD_CANCELED);
	CHECK_EQ(survived, 1);
}

static void no_call_is_a_cancellation_point(void)
{
	in_all_surroundings(cancellation_check);
}

/* A thread cancelled while it attaches must not leave the others untraced for ever. */
static void cancellation_leaves_the_session_whole(void)
{
	struct corotracer_coro co;

	enter = extended_collector;
	cancellation_check();
	CHECK_EQ(corotracer_begin(&co, NULL), 0);
}

int main(void)
{
	scratch_make();
	RUN_ALONE(no_call_changes_errno);
	RUN_ALONE(no_call_prints);
	RUN_ALONE(no_call_touches_signals);
	RUN_ALONE(no_call_is_a_cancellation_point);
	RUN_ALONE(cancellation_leaves_the_session_whole);
	return 0;
}

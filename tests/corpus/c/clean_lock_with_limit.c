/* SPDX-License-Identifier: MIT */
/*
 * clean_lock_with_limit.c - a request waits for the cache's lock for at most 5 ms and then goes on
 * without it; one of its users holds it for the whole run.
 *
 * corpus: clean
 */
#include "loop_sync.h"

struct limited_lock {
	struct fiber *holder, *waiters[64];
	int nr_waiters;
};

static struct limited_lock cache;
static int nr_without;

/* False: the time is over, and the lock is not taken. */
static bool cache_lock(void)
{
	struct fiber *self = fiber_current();
	int i;

	if (cache.holder) {
		cache.waiters[cache.nr_waiters++] = self;
		fiber_timer(self, 5);
		fiber_park(CTP_REASON_MUTEX, &cache);
		fiber_timer_cancel(self);
	} else {
		cache.holder = self;
	}
	if (cache.holder == self) {
		corotracer_acquired(&self->trace, (uintptr_t)&cache);
		return true;
	}
	for (i = 0; cache.waiters[i] != self; i++)
		;
	cache.waiters[i] = cache.waiters[--cache.nr_waiters];
	return false;
}

static void cache_unlock(void)
{
	corotracer_released(&fiber_current()->trace, (uintptr_t)&cache);
	cache.holder = cache.nr_waiters ? cache.waiters[--cache.nr_waiters] : NULL;
	if (cache.holder)
		fiber_unpark(cache.holder);
}

static void handle_request(void *arg)
{
	(void)arg;
	if (cache_lock()) {
		fiber_sleep(2);
		cache_unlock();
	} else {
		nr_without++;
	}
}

/* After 0.5 s the cache is rebuilt, with the lock held. */
static void rebuild_cache(void *arg)
{
	(void)arg;
	fiber_sleep(500);
	while (!cache_lock())
		;
	for (;;)
		fiber_sleep(20);
}

static void start_requests(void *arg)
{
	int i;

	(void)arg;
	for (i = 0;; i++) {
		loop_spawn(handle_request, NULL, "request-%d", i);
		fiber_sleep(4);
	}
}

int main(void)
{
	loop_spawn(start_requests, NULL, "source");
	loop_spawn(rebuild_cache, NULL, "rebuild");
	loop_run(1800);
	return 0;
}

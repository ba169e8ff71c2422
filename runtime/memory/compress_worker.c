/* SPDX-License-Identifier: MIT */
/* compress_worker.c - a thread that compresses blocks while the next ones are packed. */
#include "compress_worker.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "sys.h"

/* In a traced program: allocations of this thread are not the program's. */
void crt_calls_end(void) __attribute__((weak, visibility("hidden")));

enum { NOT_THERE, RUNS, FAILED };

static struct {
	uint32_t state;
	uint32_t given; /* [threads] futex: blocks handed over */
	uint32_t done;  /* [threads] futex: of these, compressed */
	struct cray_maker *blocks[CRT_PRESS_MAX];
} press;

bool crt_start_thread(void *(*run)(void *), void *argument)
{
	struct crt_mask mask = crt_signals_off();
	pthread_attr_t attr;
	pthread_t thread;
	bool started = false;

	if (pthread_attr_init(&attr) == 0) {
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		pthread_attr_setstacksize(&attr, 512u << 10);
		started = pthread_create(&thread, &attr, run, argument) == 0;
		pthread_attr_destroy(&attr);
	}
	crt_signals_back(mask);
	return started;
}

static void *press_run(void *unused)
{
	uint32_t done = press.done, given;

	(void)unused;
	if (crt_calls_end)
		crt_calls_end();
	prctl(PR_SET_NAME, "cacheray-2", 0, 0, 0);
	for (;;) {
		/* (mem-K) pairs with the release in crt_press_give(): the block is visible. */
		while ((given = __atomic_load_n(&press.given, __ATOMIC_ACQUIRE)) == done)
			crt_futex_wait(&press.given, given, 1000);
		cray_maker_press(press.blocks[done++ % CRT_PRESS_MAX]);
		/* (mem-K) pairs with the acquire in crt_press_done(): it is compressed. */
		__atomic_store_n(&press.done, done, __ATOMIC_RELEASE);
		crt_futex_wake(&press.done);
	}
	return NULL;
}

uint32_t crt_press_give(struct cray_maker *m, bool start)
{
	uint32_t ticket = press.given + 1;

	if (press.state == NOT_THERE && start)
		press.state = crt_start_thread(press_run, NULL) ? RUNS : FAILED;
	if (press.state != RUNS) {
		cray_maker_press(m);
		press.given = press.done = ticket;
		return ticket;
	}
	press.blocks[press.given % CRT_PRESS_MAX] = m;
	/* (mem-K) pairs with the acquire in press_run(). */
	__atomic_store_n(&press.given, ticket, __ATOMIC_RELEASE);
	crt_futex_wake(&press.given);
	return ticket;
}

bool crt_press_done(uint32_t ticket, bool wait)
{
	uint32_t done;

	/* (mem-K) pairs with the release in press_run(). */
	while ((int32_t)((done = __atomic_load_n(&press.done, __ATOMIC_ACQUIRE)) - ticket) < 0) {
		if (!wait)
			return false;
		crt_futex_wait(&press.done, done, 1000);
	}
	return true;
}

void crt_press_forget(void)
{
	__builtin_memset(&press, 0, sizeof(press));
}

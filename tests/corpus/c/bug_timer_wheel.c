/* SPDX-License-Identifier: MIT */
/*
 * bug_timer_wheel.c - a timer wheel with 64 slots of 2 ms: a timer of exactly one turn goes into
 * the slot that is just being emptied, and the count of its turns becomes -1.
 *
 * corpus: bug
 * class: lost-wakeup
 * at: @sleep
 * victims: sleeper-9
 */
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_SLEEPERS 16
#define NR_SLOTS    64
#define TICK_NS     2000000

struct sleeper {
	struct corotracer_coro trace;
	int slot, nr_turns, nr_sleeps;
};

static struct sleeper sleepers[NR_SLEEPERS];

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* Sleep for a number of ticks that depends on the sleeper; number 9 once for a whole turn. */
static void sleeper_step(struct sleeper *s, int tick)
{
	int number = (int)(s - sleepers), ticks = 3 + number;
	uint64_t due;

	corotracer_resume(&s->trace);
	if (number == 9 && ++s->nr_sleeps == 8)
		ticks = NR_SLOTS;
	s->slot = (tick + ticks) % NR_SLOTS;
	s->nr_turns = s->slot == tick % NR_SLOTS ? ticks / NR_SLOTS - 2 : ticks / NR_SLOTS;
	due = clock_ns() + (uint64_t)ticks * TICK_NS;
	corotracer_await(&s->trace, CTP_REASON_TIMER, due); /* @sleep */
}

static void run_tick(int tick)
{
	struct sleeper *s;

	for (s = sleepers; s < sleepers + NR_SLEEPERS; s++) {
		if (s->slot != tick % NR_SLOTS)
			continue;
		if (s->nr_turns == 0) {
			corotracer_wake_at(&s->trace, NULL, NULL, CTP_REASON_TIMER);
			sleeper_step(s, tick);
		} else {
			s->nr_turns--;
		}
	}
}

int main(void)
{
	char name[32];
	int i, tick;

	corotracer_init();
	for (i = 0; i < NR_SLEEPERS; i++) {
		snprintf(name, sizeof(name), "sleeper-%d", i);
		corotracer_spawn(&sleepers[i].trace, name, NULL);
		sleeper_step(&sleepers[i], 0);
	}
	for (tick = 1; tick < 800; tick++) {
		nanosleep(&(struct timespec){ 0, TICK_NS }, NULL);
		run_tick(tick);
	}
	return 0;
}

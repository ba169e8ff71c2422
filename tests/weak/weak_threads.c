/* SPDX-License-Identifier: MIT */
/* weak_threads.c - the threads of weak_machine.h: fibers, and which of them continues. */
#include "weak_machine.h"

#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

#define STACK      65536u
#define SLEEP      8u /* after the hand-overs of tests: one per thread that sleeps */
#define HAND_OVERS (SLEEP + WEAK_THREADS)
#define NO_THREAD  WEAK_THREADS

struct fiber {
	jmp_buf at;
	ucontext_t start;
	bool has_begun, has_ended, is_killed;
	unsigned waits; /* 1 + number of the hand-over that it waits for */
	uint64_t ticks;
};

static _Alignas(64) unsigned char stacks[WEAK_THREADS][STACK];
static struct fiber fibers[WEAK_THREADS];
static unsigned self = NO_THREAD, nr_switches;
static bool given[HAND_OVERS], is_known;
static jmp_buf home;
static const struct weak_test *test;

unsigned weak_self(void)
{
	return self;
}

bool weak_was_killed(unsigned thread)
{
	return fibers[thread].is_killed;
}

uint64_t weak_ticks(void)
{
	if (self == NO_THREAD)
		return UINT64_C(1) << 40;
	return ++fibers[self].ticks * 16 + self;
}

static bool can_run(unsigned i)
{
	const struct fiber *f = &fibers[i];

	return i < test->nr_threads && !f->has_ended && (!f->waits || given[f->waits - 1]);
}

/* The threads that may continue, the running one first; returns their number. */
static unsigned who_can(unsigned list[])
{
	unsigned nr = 0, i;

	if (self != NO_THREAD && can_run(self))
		list[nr++] = self;
	if (nr && test->most_switches && nr_switches == test->most_switches)
		return nr;
	for (i = 0; i < test->nr_threads; i++) {
		if (i != self && can_run(i))
			list[nr++] = i;
	}
	return nr;
}

static bool may_die(unsigned i)
{
	unsigned k;

	if (i == NO_THREAD || fibers[i].has_ended || !(test->mortal >> i & 1))
		return false;
	for (k = 0; k < test->nr_threads; k++) {
		if (fibers[k].is_killed)
			return false;
	}
	return true;
}

uint64_t weak_threads_hash(void)
{
	uint64_t hash = test->most_switches ? nr_switches * 8 + self : 0;
	unsigned i;

	for (i = 0; i < WEAK_THREADS; i++)
		hash = hash * 31 + fibers[i].has_begun + 2u * fibers[i].has_ended +
		       4u * fibers[i].is_killed + 8u * fibers[i].waits + 256 * fibers[i].ticks;
	for (i = 0; i < HAND_OVERS; i++)
		hash = hash * 3 + given[i];
	return hash * UINT64_C(0x9e3779b97f4a7c15);
}

static void fiber_main(void)
{
	test->threads[self]();
	weak_memory_flush();
	fibers[self].has_ended = true;
	weak_yield();
}

static void fiber_continue(unsigned next)
{
	struct fiber *f = &fibers[next];

	self = next;
	if (f->has_begun)
		longjmp(f->at, 1);
	f->has_begun = true;
	getcontext(&f->start);
	f->start.uc_stack.ss_sp = stacks[next];
	f->start.uc_stack.ss_size = STACK;
	f->start.uc_link = NULL;
	makecontext(&f->start, fiber_main, 0);
	setcontext(&f->start);
}

/* The next thread; NO_THREAD: all have ended. */
static unsigned choose_next(void)
{
	unsigned list[WEAK_THREADS], nr = who_can(list), chosen;
	bool mortal = may_die(self);

	if (nr + mortal > 1 && !weak_is_repeating() &&
	    weak_is_known(weak_memory_hash() + weak_threads_hash())) {
		is_known = true;
		return NO_THREAD;
	}
	chosen = nr + mortal ? weak_choose(nr + mortal) : 0;
	if (mortal && chosen == nr) {
		fibers[self].has_ended = fibers[self].is_killed = true;
		nr = who_can(list);
		chosen = nr ? weak_choose(nr) : 0;
	}
	return nr ? list[chosen] : NO_THREAD;
}

void weak_yield(void)
{
	unsigned before = self, next = choose_next();

	if (next == before)
		return;
	if (before != NO_THREAD && can_run(before))
		nr_switches++;
	if (next == NO_THREAD) {
		self = NO_THREAD;
		longjmp(home, 1);
	}
	if (before != NO_THREAD && setjmp(fibers[before].at) != 0)
		return;
	fiber_continue(next);
}

void weak_may_die(void)
{
	if (!may_die(self) || weak_choose(2) == 0)
		return;
	fibers[self].has_ended = fibers[self].is_killed = true;
	weak_yield();
}

void weak_hand_over(unsigned nr)
{
	weak_memory_give_view(nr);
	given[nr] = true;
	weak_yield();
}

void weak_take_over(unsigned nr)
{
	fibers[self].waits = nr + 1;
	weak_yield();
	fibers[self].waits = 0;
	weak_memory_take_view(nr);
}

void weak_sleep(void)
{
	given[SLEEP + self] = false;
	fibers[self].waits = SLEEP + self + 1;
	weak_yield();
	fibers[self].waits = 0;
}

void weak_wake(void)
{
	unsigned i;

	for (i = 0; i < WEAK_THREADS; i++)
		given[SLEEP + i] |= i != self;
}

bool weak_has_ended(unsigned thread)
{
	return fibers[thread].has_ended;
}

void weak_threads_begin(const struct weak_test *of)
{
	test = of;
	memset(fibers, 0, sizeof(fibers));
	memset(given, 0, sizeof(given));
	self = NO_THREAD;
	nr_switches = 0;
	is_known = false;
}

bool weak_threads_run(void)
{
	if (setjmp(home) == 0)
		weak_yield();
	self = NO_THREAD;
	return !is_known;
}

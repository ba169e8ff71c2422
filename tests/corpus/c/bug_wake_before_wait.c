/* SPDX-License-Identifier: MIT */
/*
 * bug_wake_before_wait.c - an event without memory: a set() that comes while the consumer still
 * writes its statistics finds no waiter, and the consumer forgets it when it registers.
 *
 * corpus: bug
 * class: wake-before-suspend|lost-wakeup
 * at: @stuck
 * victims: consumer
 */
#include <time.h>

#include "steal_sched.h"

/* The waiter clears the flag when it registers: the set() of this moment is lost. */
struct event {
	atomic_bool is_set;
	_Atomic(struct task *) waiter;
};

static struct event event;
static struct task consumer, others[8];
static atomic_int nr_items, nr_taken;

static void event_set(struct event *e)
{
	struct task *t = atomic_exchange(&e->waiter, NULL);

	atomic_store(&e->is_set, true);
	if (t)
		task_wake(t, NULL);
}

static enum task_result consume_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;) {
		while (atomic_load(&nr_taken) < atomic_load(&nr_items))
			atomic_fetch_add(&nr_taken, 1);
		nanosleep(&(struct timespec){ 0, 4000000 }, NULL); /* writes its statistics */
		atomic_store(&event.is_set, false);
		atomic_store(&event.waiter, t);
		TASK_WAIT(t, CTP_REASON_USER, &event); /* @stuck */
	}
	TASK_END();
}

static enum task_result other_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;)
		TASK_SLEEP(t, 5);
	TASK_END();
}

/* A device thread: the last item comes as soon as the consumer has taken the one before. */
static void *produce_items(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < 30; i++) {
		nanosleep(&(struct timespec){ 0, 17000000 }, NULL);
		atomic_fetch_add(&nr_items, 1);
		event_set(&event);
	}
	while (atomic_load(&nr_taken) != atomic_load(&nr_items))
		nanosleep(&(struct timespec){ 0, 500000 }, NULL);
	atomic_fetch_add(&nr_items, 1);
	event_set(&event);
	return NULL;
}

int main(void)
{
	pthread_t producer;
	int i;

	steal_start(2);
	task_spawn(&consumer, consume_step, NULL, NULL, "consumer");
	for (i = 0; i < 8; i++)
		task_spawn(&others[i], other_step, NULL, NULL, "other-%d", i);
	pthread_create(&producer, NULL, produce_items, NULL);
	steal_wait(2200);
	return nr_taken == nr_items ? 75 : 0;
}

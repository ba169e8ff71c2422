/* SPDX-License-Identifier: MIT */
/*
 * bug_steal_lock_ring.c - tasks on two threads lock two shelves in different order; they meet once.
 *
 * corpus: bug
 * class: deadlock
 * at: @first|@second
 * victims: picker, packer
 */
#include "steal_sched.h"

/* A lock with a queue of waiting tasks; its release hands it over. */
struct shelf {
	pthread_mutex_t guard;
	struct task *holder, *waiters[4];
	int nr_waiters;
};

static struct shelf a = { .guard = PTHREAD_MUTEX_INITIALIZER },
		    b = { .guard = PTHREAD_MUTEX_INITIALIZER };
static struct task picker, packer, others[10];
static atomic_bool is_meeting;
static int nr_rounds;

/* False: the task is in the queue and must wait. */
static bool shelf_take(struct shelf *s, struct task *t)
{
	bool is_free;

	pthread_mutex_lock(&s->guard);
	is_free = !s->holder || s->holder == t;
	if (is_free)
		s->holder = t;
	else
		s->waiters[s->nr_waiters++] = t;
	pthread_mutex_unlock(&s->guard);
	if (is_free)
		corotracer_acquired(&t->trace, (uintptr_t)s);
	return is_free;
}

static void shelf_leave(struct shelf *s, struct task *t)
{
	struct task *next = NULL;
	int i;

	corotracer_released(&t->trace, (uintptr_t)s);
	pthread_mutex_lock(&s->guard);
	if (s->nr_waiters)
		next = s->waiters[0];
	for (i = 1; i < s->nr_waiters; i++)
		s->waiters[i - 1] = s->waiters[i];
	if (next)
		s->nr_waiters--;
	s->holder = next;
	pthread_mutex_unlock(&s->guard);
	if (next)
		task_wake(next, t);
}

static enum task_result picker_step(struct task *t)
{
	TASK_BEGIN(t);
	for (nr_rounds = 0;; nr_rounds++) {
		TASK_SLEEP(t, 9);
		while (!shelf_take(&a, t))
			TASK_WAIT(t, CTP_REASON_MUTEX, &a);
		atomic_store(&is_meeting, nr_rounds == 40);
		TASK_SLEEP(t, nr_rounds == 40 ? 150 : 2);
		while (!shelf_take(&b, t))
			TASK_WAIT(t, CTP_REASON_MUTEX, &b); /* @first */
		shelf_leave(&b, t);
		shelf_leave(&a, t);
	}
	TASK_END();
}

/* Usually the packer needs one shelf only. */
static enum task_result packer_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;) {
		TASK_SLEEP(t, 7);
		while (!shelf_take(&b, t))
			TASK_WAIT(t, CTP_REASON_MUTEX, &b);
		TASK_SLEEP(t, 1);
		if (atomic_load(&is_meeting)) {
			while (!shelf_take(&a, t))
				TASK_WAIT(t, CTP_REASON_MUTEX, &a); /* @second */
			shelf_leave(&a, t);
		}
		shelf_leave(&b, t);
	}
	TASK_END();
}

static enum task_result other_step(struct task *t)
{
	TASK_BEGIN(t);
	for (;;)
		TASK_SLEEP(t, 6);
	TASK_END();
}

int main(void)
{
	int i;

	steal_start(2);
	task_spawn(&picker, picker_step, NULL, NULL, "picker");
	task_spawn(&packer, packer_step, NULL, NULL, "packer");
	for (i = 0; i < 10; i++)
		task_spawn(&others[i], other_step, NULL, NULL, "other-%d", i);
	steal_wait(2300);
	return a.nr_waiters && b.nr_waiters ? 0 : 75;
}

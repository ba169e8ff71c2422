/* SPDX-License-Identifier: MIT */
/*
 * steal_sched.c - the threads, their queues, and one list of timers.
 *
 * The state of a task decides who may enqueue it: a wake of a waiting task does, a wake of a
 * running task leaves a note that its thread reads after the step.
 */
#include "steal_sched.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "run_time.h"

#define STEAL_THREADS 8

enum task_state { TASK_WAITING, TASK_READY, TASK_RUNNING, TASK_WOKEN };

struct steal_worker {
	pthread_t thread;
	pthread_mutex_t lock;
	struct task *first, **last;
};

static struct {
	struct steal_worker workers[STEAL_THREADS];
	unsigned nr;
	atomic_uint next_worker;
	atomic_int nr_alive, nr_ready;
	atomic_bool is_stopped;
	pthread_mutex_t lock; /* the timers and the sleep of idle threads */
	pthread_cond_t work;
	struct task *timers; /* earliest first */
} steal = { .lock = PTHREAD_MUTEX_INITIALIZER };

static __thread struct steal_worker *steal_self;

uint64_t steal_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- queues -------------------------------------------------------------- */

void task_enqueue(struct task *t)
{
	struct steal_worker *w = steal_self;

	if (!w)
		w = &steal.workers[atomic_fetch_add(&steal.next_worker, 1) % steal.nr];
	pthread_mutex_lock(&w->lock);
	t->next = NULL;
	if (!w->first)
		w->last = &w->first;
	*w->last = t;
	w->last = &t->next;
	atomic_fetch_add(&steal.nr_ready, 1);
	pthread_mutex_unlock(&w->lock);
	pthread_mutex_lock(&steal.lock);
	pthread_cond_signal(&steal.work);
	pthread_mutex_unlock(&steal.lock);
}

static struct task *steal_take(struct steal_worker *w)
{
	struct task *t;

	pthread_mutex_lock(&w->lock);
	t = w->first;
	if (t) {
		w->first = t->next;
		atomic_fetch_sub(&steal.nr_ready, 1);
	}
	pthread_mutex_unlock(&w->lock);
	return t;
}

static struct task *steal_any(struct steal_worker *self)
{
	struct task *t = steal_take(self);
	unsigned i;

	for (i = 0; i < steal.nr && !t; i++)
		t = steal_take(&steal.workers[(unsigned)(self - steal.workers + 1 + i) % steal.nr]);
	return t;
}

/* ---- tasks --------------------------------------------------------------- */

void task_spawn_at(struct corotracer_site *site, struct task *t,
		   enum task_result (*step)(struct task *), void *arg, struct task *parent,
		   const char *name, ...)
{
	char text[64];
	va_list ap;

	*t = (struct task){ .step = step, .arg = arg };
	va_start(ap, name);
	vsnprintf(text, sizeof(text), name, ap);
	va_end(ap);
	corotracer_begin_at(&t->trace, text, parent ? &parent->trace : NULL, site);
	atomic_fetch_add(&steal.nr_alive, 1);
	atomic_store(&t->state, TASK_READY);
	task_enqueue(t);
}

void task_wake_at(struct corotracer_site *site, struct task *t, struct task *waker)
{
	int state = atomic_load(&t->state);

	corotracer_wake_at(&t->trace, waker ? &waker->trace : NULL, site, CTP_REASON_UNKNOWN);
	for (;;) {
		if (state == TASK_READY || state == TASK_WOKEN)
			return;
		if (!atomic_compare_exchange_weak(&t->state, &state,
						  state == TASK_WAITING ? TASK_READY : TASK_WOKEN))
			continue;
		if (state == TASK_WAITING)
			task_enqueue(t);
		return;
	}
}

void task_timer(struct task *t, unsigned ms)
{
	struct task **at = &steal.timers;

	t->deadline = steal_now() + ms * 1000000ull;
	pthread_mutex_lock(&steal.lock);
	while (*at && (*at)->deadline <= t->deadline)
		at = &(*at)->next;
	t->next = *at;
	*at = t;
	pthread_cond_signal(&steal.work);
	pthread_mutex_unlock(&steal.lock);
}

static void task_finish(struct task *t)
{
	corotracer_end(&t->trace);
	atomic_store(&t->has_ended, true);
	atomic_fetch_sub(&steal.nr_alive, 1);
}

static void task_run(struct task *t)
{
	enum task_result result;
	int running = TASK_RUNNING;

	atomic_store(&t->state, TASK_RUNNING);
	corotracer_resume(&t->trace);
	result = t->step(t);
	if (result == TASK_ENDS) {
		task_finish(t);
		return;
	}
	if (t->resource)
		corotracer_suspend_on(&t->trace, NULL, t->site, t->reason, t->resource);
	else
		corotracer_suspend_at(&t->trace, NULL, t->site, t->reason);
	if (result == TASK_WAITS &&
	    atomic_compare_exchange_strong(&t->state, &running, TASK_WAITING))
		return;
	atomic_store(&t->state, TASK_READY); /* yields, or was woken meanwhile */
	task_enqueue(t);
}

/* ---- threads ------------------------------------------------------------- */

/* A task whose timer has expired; with the lock held. */
static struct task *steal_take_due(void)
{
	struct task *t = steal.timers;

	if (!t || t->deadline > steal_now())
		return NULL;
	steal.timers = t->next;
	return t;
}

static void steal_sleep(void)
{
	struct timespec ts;
	uint64_t end = steal_now() + 50000000;

	if (steal.timers && steal.timers->deadline < end)
		end = steal.timers->deadline;
	ts.tv_sec = (time_t)(end / 1000000000u);
	ts.tv_nsec = (long)(end % 1000000000u);
	pthread_cond_timedwait(&steal.work, &steal.lock, &ts);
}

static void steal_idle(void)
{
	struct task *t;

	pthread_mutex_lock(&steal.lock);
	t = steal_take_due();
	if (!t && atomic_load(&steal.nr_ready) == 0 && !atomic_load(&steal.is_stopped))
		steal_sleep();
	pthread_mutex_unlock(&steal.lock);
	if (t)
		task_wake_at(NULL, t, NULL);
}

static void *steal_main(void *arg)
{
	struct steal_worker *w = arg;
	struct task *t;

	steal_self = w;
	while (!atomic_load(&steal.is_stopped)) {
		pthread_mutex_lock(&steal.lock);
		t = steal_take_due();
		pthread_mutex_unlock(&steal.lock);
		if (t)
			task_wake_at(NULL, t, NULL);
		t = steal_any(w);
		if (t)
			task_run(t);
		else
			steal_idle();
	}
	return NULL;
}

void steal_start(unsigned nr_threads)
{
	pthread_condattr_t attr;
	unsigned i;

	corotracer_init();
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&steal.work, &attr);
	steal.nr = nr_threads;
	for (i = 0; i < nr_threads; i++)
		pthread_mutex_init(&steal.workers[i].lock, NULL);
	for (i = 0; i < nr_threads; i++)
		pthread_create(&steal.workers[i].thread, NULL, steal_main, &steal.workers[i]);
}

int steal_wait(unsigned ms)
{
	uint64_t end = steal_now() + run_time_ns(ms);
	const struct timespec step = { 0, 5000000 };

	while (atomic_load(&steal.nr_alive) && steal_now() < end)
		nanosleep(&step, NULL);
	return atomic_load(&steal.nr_alive);
}

void steal_stop(void)
{
	unsigned i;

	pthread_mutex_lock(&steal.lock);
	atomic_store(&steal.is_stopped, true);
	pthread_cond_broadcast(&steal.work);
	pthread_mutex_unlock(&steal.lock);
	for (i = 0; i < steal.nr; i++)
		pthread_join(steal.workers[i].thread, NULL);
}

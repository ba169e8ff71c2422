/* SPDX-License-Identifier: MIT */
/*
 * steal_sched.h - stackless tasks on a pool of threads that steal work from each other.
 *
 * A task is a function that continues where it stopped:
 *
 *	static enum task_result print_step(struct task *t)
 *	{
 *		struct print *p = t->arg;
 *
 *		TASK_BEGIN(t);
 *		for (p->i = 0; p->i < 10; p->i++)
 *			TASK_SLEEP(t, 10);
 *		TASK_END();
 *	}
 *
 * Local variables do not survive a wait.
 */
#ifndef TESTS_CORPUS_STEAL_SCHED_H
#define TESTS_CORPUS_STEAL_SCHED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <corotracer/corotracer.h>

enum task_result { TASK_ENDS, TASK_WAITS, TASK_YIELDS };

struct task {
	struct corotracer_coro trace;
	enum task_result (*step)(struct task *t);
	void *arg;
	int line; /* where it continues */
	atomic_int state;
	struct task *next; /* in a queue or among the timers */
	uint64_t deadline; /* of its timer; 0: none */
	atomic_bool has_ended;
	/* what the trace says about its wait */
	struct corotracer_site *site;
	uint32_t reason;
	uint64_t resource;
};

#define TASK_BEGIN(t)        \
	switch ((t)->line) { \
	case 0:
#define TASK_END() \
	}          \
	return TASK_ENDS
/* The caller has told a waker about the task; a wake that comes before the wait is kept. */
#define TASK_WAIT(t, why, what)                              \
	do {                                                 \
		(t)->site = COROTRACER_HERE;                 \
		(t)->reason = (why);                         \
		(t)->resource = (uint64_t)(uintptr_t)(what); \
		(t)->line = __LINE__;                        \
		return TASK_WAITS;                           \
	case __LINE__:;                                      \
	} while (0)
#define TASK_YIELD(t)                           \
	do {                                    \
		(t)->site = COROTRACER_HERE;    \
		(t)->reason = CTP_REASON_YIELD; \
		(t)->resource = 0;              \
		(t)->line = __LINE__;           \
		return TASK_YIELDS;             \
	case __LINE__:;                         \
	} while (0)
#define TASK_SLEEP(t, ms)                                        \
	do {                                                     \
		task_timer((t), (ms));                           \
		TASK_WAIT((t), CTP_REASON_TIMER, (t)->deadline); \
	} while (0)

uint64_t steal_now(void); /* ns, CLOCK_MONOTONIC */
void steal_start(unsigned nr_threads);
/* Wait until all tasks have ended, at most @ms; returns the number of the others. */
int steal_wait(unsigned ms);
void steal_stop(void); /* the threads end; not needed before exit() */

#define task_spawn(t, step, arg, parent, ...) \
	task_spawn_at(COROTRACER_HERE, (t), (step), (arg), (parent), __VA_ARGS__)
void task_spawn_at(struct corotracer_site *site, struct task *t,
		   enum task_result (*step)(struct task *), void *arg, struct task *parent,
		   const char *name, ...) __attribute__((format(printf, 6, 7)));

/* From any thread. */
#define task_wake(t, waker) task_wake_at(COROTRACER_HERE, (t), (waker))
void task_wake_at(struct corotracer_site *site, struct task *t, struct task *waker);

/* Put the task into a queue; task_wake() decides whether that is right. */
void task_enqueue(struct task *t);

void task_timer(struct task *t, unsigned ms);

/* A list of waiting tasks with its own lock. */
struct task_list {
	pthread_mutex_t lock;
	struct task *first;
};

#endif

/* SPDX-License-Identifier: MIT */
/*
 * sched.c - the run queue, the threads that serve it, and the tracing.
 *
 * A thread (struct worker) takes a coroutine from the run queue, switches to it, and gets
 * control back when the coroutine switches away with a request (enum wish).  Only then,
 * with the coroutine's context saved, does the worker make it visible to other threads:
 * in the queue, among the timers, or parked.  So no thread can resume a coroutine that
 * is still switching away on another thread.
 *
 * One lock orders all of this.  A coroutine is handed over only under the lock, so each
 * thread sees what the previous thread did for a coroutine, on any machine.
 *
 * The tracing
 *   It is in run_coroutine(), on the worker's own stack: a resume before the switch to the
 *   coroutine, a suspend (or the end) after the switch back and before the hand-over.
 *   A worker stays on its thread, so thread-local state is safe there, and the events of
 *   one coroutine stay in order.
 */
#include "sched.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "context.h"
#include "timers.h"

#define STACK_SIZE (128u << 10)
#define NAME_SIZE  64

/* The state of a coroutine.  Guarded by the scheduler's lock. */
enum state {
	READY,    /* in the run queue */
	RUNNING,  /* on a worker, or switching away from it */
	SLEEPING, /* among the timers */
	PARKED,   /* in no list: the waker has a pointer to it */
};

/* The request of a coroutine that switches away; only it and its worker access this. */
enum wish { TO_YIELD, TO_SLEEP, TO_PARK, TO_END };

struct coro {
	struct corotracer_coro trace;
	struct context context;
	struct sched *sched;
	void (*fn)(void *arg);
	void *arg;

	/* accessed by the coroutine and the worker that runs it */
	struct worker *worker; /* the last one, while it waits */
	enum wish wish;
	uint64_t wake_ns; /* TO_SLEEP */
	struct coro_wait wait;

	/* guarded by sched->lock */
	enum state state;
	bool woken;        /* coro_ready() was called before the park */
	struct coro *next; /* in the run queue */
	struct coro **at;  /* the pointer to this one in the list of all */
	struct coro *next_all;
};

struct worker {
	struct sched *sched;
	struct context context;
	pthread_t thread;
	uint64_t nr_migrations;
};

struct sched {
	pthread_mutex_t lock;
	pthread_cond_t work; /* work to run, an earlier timer, or the end */

	/* guarded by lock */
	struct coro *first, **last; /* the run queue */
	struct timers timers;
	struct coro *all;
	size_t nr_all;
	size_t nr_active; /* ready, running or sleeping; the scheduler ends at 0 */

	uint64_t nr_migrations; /* only written by sched_run() */
};

/* The coroutine that this thread runs. */
static __thread struct coro *current;

/*
 * Never inlined: the compiler could keep the address of one thread's variable across a
 * switch that returns on another thread.
 */
__attribute__((noinline)) struct coro *coro_self(void)
{
	__asm__ volatile("");
	return current;
}

uint64_t sched_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- the run queue; all with the lock held ------------------------------- */

static void queue_push(struct sched *s, struct coro *co)
{
	co->state = READY;
	co->next = NULL;
	*s->last = co;
	s->last = &co->next;
	pthread_cond_signal(&s->work);
}

static struct coro *queue_pop(struct sched *s)
{
	struct coro *co = s->first;

	if (!co)
		return NULL;
	s->first = co->next;
	if (!s->first)
		s->last = &s->first;
	co->state = RUNNING;
	return co;
}

static void queue_push_due(struct sched *s)
{
	struct coro *co;
	uint64_t now = sched_now_ns();

	while ((co = timers_take_due(&s->timers, now))) {
		corotracer_wake_by(&co->trace, NULL, NULL, CTP_REASON_TIMER, co->wake_ns);
		queue_push(s, co);
	}
}

/* Wait until there is something to run or a timer is due; the caller checks again. */
static void queue_wait(struct sched *s)
{
	struct timespec ts;
	uint64_t when;

	if (!timers_next(&s->timers, &when)) {
		pthread_cond_wait(&s->work, &s->lock);
		return;
	}
	ts.tv_sec = (time_t)(when / 1000000000u);
	ts.tv_nsec = (long)(when % 1000000000u);
	pthread_cond_timedwait(&s->work, &s->lock, &ts);
}

/* ---- create and destroy -------------------------------------------------- */

static void coro_entry(void *arg)
{
	struct coro *co = arg;

	co->fn(co->arg);
	co->wish = TO_END;
	context_leave(&co->context, &co->worker->context);
}

static struct coro *coro_new(struct sched *s, void (*fn)(void *arg), void *arg, int *err)
{
	struct coro *co = calloc(1, sizeof(*co));

	if (!co) {
		*err = -ENOMEM;
		return NULL;
	}
	*err = context_init(&co->context, STACK_SIZE, coro_entry, co);
	if (*err) {
		free(co);
		return NULL;
	}
	co->sched = s;
	co->fn = fn;
	co->arg = arg;
	return co;
}

static void coro_free(struct coro *co)
{
	context_release(&co->context);
	free(co);
}

/* Add the coroutine to the list of all and to the run queue. */
static int sched_admit(struct sched *s, struct coro *co)
{
	int err;

	pthread_mutex_lock(&s->lock);
	err = timers_reserve(&s->timers, s->nr_all + 1);
	if (!err) {
		s->nr_all++;
		s->nr_active++;
		co->next_all = s->all;
		co->at = &s->all;
		if (s->all)
			s->all->at = &co->next_all;
		s->all = co;
		queue_push(s, co);
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

static void sched_dismiss(struct sched *s, struct coro *co)
{
	pthread_mutex_lock(&s->lock);
	*co->at = co->next_all;
	if (co->next_all)
		co->next_all->at = co->at;
	s->nr_all--;
	s->nr_active--;
	pthread_mutex_unlock(&s->lock);
	coro_free(co);
}

int sched_spawn_at(struct sched *s, void (*fn)(void *arg), void *arg, struct corotracer_site *site,
		   const char *name, ...)
{
	char text[NAME_SIZE];
	struct coro *co, *parent = coro_self();
	va_list ap;
	int err;

	co = coro_new(s, fn, arg, &err);
	if (!co)
		return err;
	va_start(ap, name);
	vsnprintf(text, sizeof(text), name, ap);
	va_end(ap);
	corotracer_begin_at(&co->trace, text, parent ? &parent->trace : NULL, site);

	err = sched_admit(s, co);
	if (err) {
		corotracer_end(&co->trace);
		coro_free(co);
	}
	return err;
}

/* ---- waiting and waking -------------------------------------------------- */

static void switch_away(struct coro *co, enum wish wish, const struct coro_wait *wait)
{
	co->wish = wish;
	co->wait = *wait;
	context_switch(&co->context, &co->worker->context);
}

CORO_WAITS void coro_yield_at(struct corotracer_site *site)
{
	struct coro_wait wait = { CORO_CALLER, site, CTP_REASON_YIELD, 0 };

	switch_away(coro_self(), TO_YIELD, &wait);
}

CORO_WAITS void coro_sleep_at(uint64_t ns, struct corotracer_site *site)
{
	struct coro *co = coro_self();
	struct coro_wait wait = { CORO_CALLER, site, CTP_REASON_TIMER, sched_now_ns() + ns };

	co->wake_ns = wait.resource;
	switch_away(co, TO_SLEEP, &wait);
}

void coro_park(const struct coro_wait *wait)
{
	switch_away(coro_self(), TO_PARK, wait);
}

void coro_ready(struct coro *co, struct corotracer_site *site)
{
	struct sched *s = co->sched;
	struct coro *waker = coro_self();

	pthread_mutex_lock(&s->lock);
	/* Before other threads can see it: after that it may be freed. */
	corotracer_wake_at(&co->trace, waker ? &waker->trace : NULL, site, CTP_REASON_UNKNOWN);
	if (co->state == PARKED) {
		s->nr_active++;
		queue_push(s, co);
	} else {
		co->woken = true; /* still running; its worker checks the flag */
	}
	pthread_mutex_unlock(&s->lock);
}

static void settle_sleep(struct sched *s, struct coro *co)
{
	uint64_t next;

	/* Other workers may wait for a later timer: one of them must check again. */
	if (!timers_next(&s->timers, &next) || co->wake_ns < next)
		pthread_cond_signal(&s->work);
	co->state = SLEEPING;
	timers_add(&s->timers, co->wake_ns, co);
}

static void settle_park(struct sched *s, struct coro *co)
{
	if (co->woken) {
		co->woken = false;
		queue_push(s, co);
	} else {
		co->state = PARKED;
		s->nr_active--;
	}
}

/* The coroutine's context is saved: carry out its request and hand it over. */
static void settle(struct sched *s, struct coro *co)
{
	pthread_mutex_lock(&s->lock);
	if (co->wish == TO_SLEEP)
		settle_sleep(s, co);
	else if (co->wish == TO_PARK)
		settle_park(s, co);
	else
		queue_push(s, co);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the workers --------------------------------------------------------- */

/* NULL: no coroutine can run any more. */
static struct coro *next_coroutine(struct sched *s)
{
	struct coro *co;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		queue_push_due(s);
		co = queue_pop(s);
		if (co || !s->nr_active)
			break;
		queue_wait(s);
	}
	if (!co)
		pthread_cond_broadcast(&s->work);
	pthread_mutex_unlock(&s->lock);
	return co;
}

/* Pass the resource only if there is one. */
static void trace_wait(struct coro *co)
{
	const struct coro_wait *wait = &co->wait;

	if (wait->resource)
		corotracer_suspend_on(&co->trace, wait->addr, wait->site, wait->reason,
				      wait->resource);
	else
		corotracer_suspend_at(&co->trace, wait->addr, wait->site, wait->reason);
}

static void run_coroutine(struct worker *w, struct coro *co)
{
	if (co->worker && co->worker != w)
		w->nr_migrations++;
	co->worker = w;
	current = co;
	corotracer_resume(&co->trace);
	context_switch(&w->context, &co->context);
	current = NULL;

	if (co->wish == TO_END) {
		corotracer_end(&co->trace);
		sched_dismiss(w->sched, co);
	} else {
		trace_wait(co);
		settle(w->sched, co);
	}
}

static void *worker_main(void *arg)
{
	struct worker *w = arg;
	struct coro *co;

	context_init_thread(&w->context);
	while ((co = next_coroutine(w->sched)))
		run_coroutine(w, co);
	return NULL;
}

/* ---- the scheduler ------------------------------------------------------- */

struct sched *sched_new(void)
{
	struct sched *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return NULL;
	s->last = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->work, &attr);
	pthread_condattr_destroy(&attr);
	return s;
}

long sched_run(struct sched *s, unsigned nr_threads)
{
	struct worker *workers = calloc(nr_threads, sizeof(*workers));
	unsigned i, nr = 0;
	int err = 0;

	if (!workers)
		return -ENOMEM;
	for (; nr < nr_threads; nr++) {
		workers[nr].sched = s;
		err = pthread_create(&workers[nr].thread, NULL, worker_main, &workers[nr]);
		if (err)
			break; /* continue with fewer threads */
	}
	for (i = 0; i < nr; i++) {
		pthread_join(workers[i].thread, NULL);
		s->nr_migrations += workers[i].nr_migrations;
	}
	free(workers);
	return nr ? (long)s->nr_all : -err;
}

uint64_t sched_migrations(const struct sched *s)
{
	return s->nr_migrations;
}

void sched_free(struct sched *s)
{
	struct coro *co;

	if (!s)
		return;
	/*
	 * Free the stacks without corotracer_end(): these coroutines never ended, and the
	 * trace must show them as suspended until the end.
	 */
	while ((co = s->all)) {
		s->all = co->next_all;
		coro_free(co);
	}
	timers_release(&s->timers);
	pthread_cond_destroy(&s->work);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

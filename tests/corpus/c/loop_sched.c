/* SPDX-License-Identifier: MIT */
/*
 * loop_sched.c - the ready lists, the timers and the descriptors of the event loop.
 *
 * The trace is written by the loop, on its own stack, before and after a switch to a fiber.
 */
#include "loop_sched.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "run_time.h"

#define LOOP_STACK (64u << 10)
#define LOOP_FDS   1024

struct fiber_list {
	struct fiber *first, **last;
};

static struct {
	ucontext_t context;
	struct fiber *current;
	struct fiber_list ready[LOOP_PRIORITIES];
	int nr_ready;
	struct fiber *timers; /* earliest first */
	struct fiber *watchers[LOOP_FDS];
	void *free_stacks[64];
	unsigned nr_free_stacks;
	int epoll;
	int nr_alive;
	bool leave;
	/* from other threads */
	pthread_mutex_t lock;
	struct fiber_list posted;
	int eventfd;
} loop = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint64_t loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fiber_list_append(struct fiber_list *list, struct fiber *f)
{
	f->next = NULL;
	if (!list->first)
		list->last = &list->first;
	*list->last = f;
	list->last = &f->next;
}

static struct fiber *fiber_list_shift(struct fiber_list *list)
{
	struct fiber *f = list->first;

	if (f)
		list->first = f->next;
	return f;
}

static void loop_setup(void)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (loop.epoll)
		return;
	corotracer_init();
	loop.epoll = epoll_create1(EPOLL_CLOEXEC);
	loop.eventfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	ev.data.fd = loop.eventfd;
	epoll_ctl(loop.epoll, EPOLL_CTL_ADD, loop.eventfd, &ev);
}

static void fiber_make_ready(struct fiber *f)
{
	fiber_list_append(&loop.ready[f->priority], f);
	loop.nr_ready++;
}

struct fiber *fiber_current(void)
{
	return loop.current;
}

static const struct corotracer_coro *loop_current_trace(void)
{
	return loop.current ? &loop.current->trace : NULL;
}

/* ---- start and end ------------------------------------------------------- */

static void fiber_main(void)
{
	struct fiber *f = loop.current;

	f->fn(f->arg);
	f->has_ended = true;
	setcontext(&loop.context);
}

static struct fiber *fiber_create(struct corotracer_site *site, void (*fn)(void *arg), void *arg,
				  const char *name, va_list ap)
{
	struct fiber *f = calloc(1, sizeof(*f));
	char text[64];

	loop_setup();
	if (f)
		f->stack = loop.nr_free_stacks ? loop.free_stacks[--loop.nr_free_stacks]
					       : malloc(LOOP_STACK);
	if (!f || !f->stack)
		abort();
	f->fn = fn;
	f->arg = arg;
	f->priority = 1;
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = LOOP_STACK;
	makecontext(&f->context, fiber_main, 0);
	vsnprintf(text, sizeof(text), name, ap);
	corotracer_begin_at(&f->trace, text, loop_current_trace(), site);
	loop.nr_alive++;
	return f;
}

struct fiber *loop_create_at(struct corotracer_site *site, void (*fn)(void *arg), void *arg,
			     const char *name, ...)
{
	struct fiber *f;
	va_list ap;

	va_start(ap, name);
	f = fiber_create(site, fn, arg, name, ap);
	va_end(ap);
	return f;
}

struct fiber *loop_spawn_at(struct corotracer_site *site, void (*fn)(void *arg), void *arg,
			    const char *name, ...)
{
	struct fiber *f;
	va_list ap;

	va_start(ap, name);
	f = fiber_create(site, fn, arg, name, ap);
	va_end(ap);
	fiber_make_ready(f);
	return f;
}

/* The struct stays, for a later fiber_join(). */
static void fiber_finish(struct fiber *f)
{
	corotracer_end(&f->trace);
	loop.nr_alive--;
	if (loop.nr_free_stacks < 64)
		loop.free_stacks[loop.nr_free_stacks++] = f->stack;
	else
		free(f->stack);
	f->stack = NULL;
	if (f->joiner) {
		corotracer_wake_at(&f->joiner->trace, NULL, NULL, CTP_REASON_JOIN);
		fiber_make_ready(f->joiner);
	}
}

static void fiber_run(struct fiber *f)
{
	loop.current = f;
	corotracer_resume(&f->trace);
	swapcontext(&loop.context, &f->context);
	loop.current = NULL;
	if (f->has_ended)
		fiber_finish(f);
	else if (f->resource)
		corotracer_suspend_on(&f->trace, NULL, f->site, f->reason, f->resource);
	else
		corotracer_suspend_at(&f->trace, NULL, f->site, f->reason);
}

/* ---- waits --------------------------------------------------------------- */

void fiber_park_at(struct corotracer_site *site, uint32_t reason, uint64_t resource)
{
	struct fiber *f = loop.current;

	f->site = site;
	f->reason = reason;
	f->resource = resource;
	swapcontext(&f->context, &loop.context);
}

void fiber_unpark_at(struct corotracer_site *site, struct fiber *f)
{
	corotracer_wake_at(&f->trace, loop_current_trace(), site, CTP_REASON_UNKNOWN);
	fiber_make_ready(f);
}

void fiber_yield_at(struct corotracer_site *site)
{
	fiber_make_ready(loop.current);
	fiber_park_at(site, CTP_REASON_YIELD, 0);
}

void fiber_timer(struct fiber *f, unsigned ms)
{
	struct fiber **at = &loop.timers;

	fiber_timer_cancel(f);
	f->deadline = loop_now() + ms * 1000000ull;
	f->has_timer = true;
	while (*at && (*at)->deadline <= f->deadline)
		at = &(*at)->next_timer;
	f->next_timer = *at;
	*at = f;
}

void fiber_timer_cancel(struct fiber *f)
{
	struct fiber **at = &loop.timers;

	f->has_timer = false;
	while (*at && *at != f)
		at = &(*at)->next_timer;
	if (*at)
		*at = f->next_timer;
}

void fiber_sleep_at(struct corotracer_site *site, unsigned ms)
{
	struct fiber *f = loop.current;

	fiber_timer(f, ms);
	fiber_park_at(site, CTP_REASON_TIMER, f->deadline);
}

void fiber_join_at(struct corotracer_site *site, struct fiber *f)
{
	if (f->has_ended)
		return;
	f->joiner = loop.current;
	fiber_park_at(site, CTP_REASON_JOIN, corotracer_id(&f->trace));
}

/* ---- descriptors --------------------------------------------------------- */

/* Ask the kernel for what the watchers of the descriptor wait for. */
static void loop_watch_update(int fd)
{
	struct epoll_event ev = { .data.fd = fd };
	struct fiber *f;

	for (f = loop.watchers[fd]; f; f = f->next)
		ev.events |= f->events;
	if (!ev.events)
		epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL);
	else if (epoll_ctl(loop.epoll, EPOLL_CTL_MOD, fd, &ev) != 0)
		epoll_ctl(loop.epoll, EPOLL_CTL_ADD, fd, &ev);
}

uint32_t fiber_poll_at(struct corotracer_site *site, int fd, uint32_t events)
{
	struct fiber *f = loop.current;

	if (fd < 0 || fd >= LOOP_FDS)
		return EPOLLERR;
	f->events = events;
	f->next = loop.watchers[fd];
	loop.watchers[fd] = f;
	loop_watch_update(fd);
	fiber_park_at(site, events & EPOLLOUT ? CTP_REASON_IO_WRITE : CTP_REASON_IO_READ,
		      (uint64_t)fd);
	return f->events;
}

void loop_forget(int fd)
{
	loop.watchers[fd] = NULL;
	epoll_ctl(loop.epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void loop_watch_fire(int fd, uint32_t events)
{
	struct fiber **at = &loop.watchers[fd], *f;

	while ((f = *at)) {
		if (!(events & (f->events | EPOLLERR | EPOLLHUP))) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		f->events = events;
		corotracer_wake_by(&f->trace, NULL, NULL, f->reason, (uint64_t)fd);
		fiber_make_ready(f);
	}
	loop_watch_update(fd);
}

/* ---- the loop ------------------------------------------------------------ */

void loop_post_at(struct corotracer_site *site, struct fiber *f)
{
	uint64_t one = 1;

	pthread_mutex_lock(&loop.lock);
	corotracer_wake_at(&f->trace, NULL, site, CTP_REASON_UNKNOWN);
	fiber_list_append(&loop.posted, f);
	pthread_mutex_unlock(&loop.lock);
	(void)!write(loop.eventfd, &one, sizeof(one));
}

static void loop_take_posted(void)
{
	struct fiber *f;
	uint64_t count;

	(void)!read(loop.eventfd, &count, sizeof(count));
	pthread_mutex_lock(&loop.lock);
	while ((f = fiber_list_shift(&loop.posted)))
		fiber_make_ready(f);
	pthread_mutex_unlock(&loop.lock);
}

static void loop_take_timers(void)
{
	struct fiber *f;

	while ((f = loop.timers) && f->deadline <= loop_now()) {
		loop.timers = f->next_timer;
		f->has_timer = false;
		corotracer_wake_by(&f->trace, NULL, NULL, CTP_REASON_TIMER, f->deadline);
		fiber_make_ready(f);
	}
}

static struct fiber *loop_take_ready(void)
{
	struct fiber *f = NULL;
	int i;

	for (i = 0; i < LOOP_PRIORITIES && !f; i++)
		f = fiber_list_shift(&loop.ready[i]);
	if (f)
		loop.nr_ready--;
	return f;
}

/* Wait for descriptors; not at all while a fiber is ready. */
static void loop_wait(uint64_t end)
{
	struct epoll_event events[16];
	uint64_t now = loop_now();
	int i, nr, timeout;

	if (loop.timers && loop.timers->deadline < end)
		end = loop.timers->deadline;
	timeout = loop.nr_ready || end <= now ? 0 : (int)((end - now + 999999) / 1000000);
	nr = epoll_wait(loop.epoll, events, 16, timeout);
	for (i = 0; i < nr; i++) {
		if (events[i].data.fd == loop.eventfd)
			loop_take_posted();
		else
			loop_watch_fire(events[i].data.fd, events[i].events);
	}
}

void loop_leave(void)
{
	loop.leave = true;
}

int loop_run(unsigned ms)
{
	uint64_t end = loop_now() + run_time_ns(ms);
	struct fiber *f;
	int i, nr;

	loop_setup();
	loop.leave = false;
	while (loop.nr_alive && !loop.leave && loop_now() < end) {
		nr = loop.nr_ready; /* as many as are ready now, and then timers and descriptors */
		for (i = 0; i < nr && !loop.leave && (f = loop_take_ready()); i++)
			fiber_run(f);
		if (loop.leave)
			break;
		loop_wait(end);
		loop_take_timers();
	}
	return loop.nr_alive;
}

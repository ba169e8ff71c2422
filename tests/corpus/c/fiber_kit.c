// SPDX-License-Identifier: MIT
/* fiber_kit.c - the scheduler of fiber_kit.h: threads, queues, timers, descriptors. */
#include "fiber_kit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "fiber_kit_inside.h"

#define STACK_SIZE   (64 * 1024)
#define MOST_WORKERS 16
#define MOST_FDS     1024

struct fk_worker {
	ucontext_t ctx;
	struct fk_fiber *running;
	struct fk_list deque;
	struct fk_list pinned;
	int index;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t work;
	enum fk_policy policy;
	int nr_workers, nr_waiting, nr_alive;
	bool is_polling, is_stopping;
	struct fk_worker workers[MOST_WORKERS];
	struct fk_list ready;
	struct fk_fiber *timers;
	struct fk_fiber *watchers[MOST_FDS];
	int epoll, kick;
	uint64_t end;
} kit = { .lock = PTHREAD_MUTEX_INITIALIZER, .work = PTHREAD_COND_INITIALIZER };

static __thread struct fk_worker *this_worker;

/* Not inlined: a fiber may continue on another thread. */
__attribute__((noinline)) static struct fk_worker *current_worker(void)
{
	__asm__ volatile("");
	return this_worker;
}

uint64_t fk_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct fk_fiber *fk_self(void)
{
	struct fk_worker *w = current_worker();

	return w ? w->running : NULL;
}

int fk_worker_index(void)
{
	return current_worker()->index;
}

void fk_enter(void)
{
	pthread_mutex_lock(&kit.lock);
}

void fk_leave(void)
{
	pthread_mutex_unlock(&kit.lock);
}

/* ---- lists -------------------------------------------------------------------------------- */

void fk_list_push(struct fk_list *l, struct fk_fiber *f)
{
	f->next = NULL;
	if (l->last)
		l->last->next = f;
	else
		l->first = f;
	l->last = f;
}

void fk_list_push_front(struct fk_list *l, struct fk_fiber *f)
{
	f->next = l->first;
	l->first = f;
	if (!l->last)
		l->last = f;
}

struct fk_fiber *fk_list_pop(struct fk_list *l)
{
	struct fk_fiber *f = l->first;

	if (f) {
		l->first = f->next;
		if (!l->first)
			l->last = NULL;
		f->next = NULL;
	}
	return f;
}

static void list_insert_by_priority(struct fk_list *l, struct fk_fiber *f)
{
	struct fk_fiber **at = &l->first;

	while (*at && (*at)->priority >= f->priority)
		at = &(*at)->next;
	f->next = *at;
	*at = f;
	if (!f->next)
		l->last = f;
}

/* ---- ready fibers ------------------------------------------------------------------------- */

static void kick_worker(void)
{
	uint64_t one = 1;

	if (kit.nr_waiting)
		pthread_cond_broadcast(&kit.work);
	if (kit.is_polling && write(kit.kick, &one, sizeof(one)) < 0)
		abort();
}

static void push_ready(struct fk_fiber *f)
{
	struct fk_worker *w = current_worker();

	if (f->worker >= 0)
		fk_list_push(&kit.workers[f->worker].pinned, f);
	else if (kit.policy == FK_LIFO)
		fk_list_push_front(&kit.ready, f);
	else if (kit.policy == FK_PRIORITY)
		list_insert_by_priority(&kit.ready, f);
	else if (kit.policy == FK_STEAL && w)
		fk_list_push(&w->deque, f);
	else
		fk_list_push(&kit.ready, f);
	kick_worker();
}

static struct fk_fiber *pick_ready(struct fk_worker *w)
{
	struct fk_fiber *f = fk_list_pop(&w->pinned);

	if (!f)
		f = fk_list_pop(&w->deque);
	if (!f)
		f = fk_list_pop(&kit.ready);
	for (int i = 1; !f && i < kit.nr_workers; i++)
		f = fk_list_pop(&kit.workers[(w->index + i) % kit.nr_workers].deque);
	return f;
}

/* With the lock held. */
void fk_make_ready(struct fk_fiber *f, uint32_t reason, uint64_t resource,
		   struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	corotracer_wake_by(&f->trace, self ? &self->trace : NULL, site, reason, resource);
	push_ready(f);
}

/* With the lock held; it is released when the fiber continues. */
void fk_switch_out(uint32_t reason, uint64_t resource, struct corotracer_site *site)
{
	struct fk_worker *w = current_worker();
	struct fk_fiber *f = w->running;

	corotracer_suspend_on(&f->trace, __builtin_return_address(0), site, reason, resource);
	w->running = NULL;
	swapcontext(&f->ctx, &w->ctx);
}

void fk_park_at(uint32_t reason, uint64_t resource, struct corotracer_site *site)
{
	fk_enter();
	fk_switch_out(reason, resource, site);
}

void fk_ready_at(struct fk_fiber *f, uint32_t reason, uint64_t resource,
		 struct corotracer_site *site)
{
	fk_enter();
	fk_make_ready(f, reason, resource, site);
	fk_leave();
}

/* ---- timers ------------------------------------------------------------------------------- */

static void timer_add(struct fk_fiber *f, uint64_t deadline)
{
	struct fk_fiber **at = &kit.timers;

	f->deadline = deadline;
	f->was_cut_short = false;
	while (*at && (*at)->deadline <= deadline)
		at = &(*at)->timer_next;
	f->timer_next = *at;
	*at = f;
	kick_worker();
}

bool fk_timer_remove(struct fk_fiber *f)
{
	for (struct fk_fiber **at = &kit.timers; *at; at = &(*at)->timer_next)
		if (*at == f) {
			*at = f->timer_next;
			return true;
		}
	return false;
}

static void fire_timers(void)
{
	uint64_t now = fk_now_ns();

	while (kit.timers && kit.timers->deadline <= now) {
		struct fk_fiber *f = kit.timers;

		kit.timers = f->timer_next;
		if (f->fd >= 0) {
			epoll_ctl(kit.epoll, EPOLL_CTL_DEL, f->fd, NULL);
			kit.watchers[f->fd] = NULL;
			f->fd = -1;
			f->was_cut_short = true;
		}
		fk_make_ready(f, CTP_REASON_TIMER, f->deadline, NULL);
	}
}

bool fk_sleep_at(int ms, struct corotracer_site *site)
{
	struct fk_fiber *f = fk_self();

	fk_enter();
	timer_add(f, fk_now_ns() + (uint64_t)ms * 1000000u);
	fk_switch_out(CTP_REASON_TIMER, f->deadline, site);
	return !f->was_cut_short;
}

/* ---- descriptors -------------------------------------------------------------------------- */

static void watch_fd(struct fk_fiber *f, int fd)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };

	f->fd = fd;
	kit.watchers[fd] = f;
	if (epoll_ctl(kit.epoll, EPOLL_CTL_MOD, fd, &e) < 0 && errno == ENOENT)
		epoll_ctl(kit.epoll, EPOLL_CTL_ADD, fd, &e);
}

bool fk_readable_at(int fd, int ms, struct corotracer_site *site)
{
	struct fk_fiber *f = fk_self();

	fk_enter();
	watch_fd(f, fd);
	f->was_cut_short = false;
	if (ms >= 0)
		timer_add(f, fk_now_ns() + (uint64_t)ms * 1000000u);
	fk_switch_out(CTP_REASON_IO_READ, (uint64_t)fd, site);
	return !f->was_cut_short;
}

void fk_acceptable_at(int fd, struct corotracer_site *site)
{
	fk_enter();
	watch_fd(fk_self(), fd);
	fk_switch_out(CTP_REASON_ACCEPT, (uint64_t)fd, site);
}

void fk_close_at(int fd, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	corotracer_closing_at(self ? &self->trace : NULL, (uint64_t)fd, site);
	close(fd);
}

void fk_unwatch(int fd)
{
	epoll_ctl(kit.epoll, EPOLL_CTL_DEL, fd, NULL);
}

static void fd_event(int fd)
{
	struct fk_fiber *f = kit.watchers[fd];
	uint64_t count;

	if (fd == kit.kick) {
		if (read(kit.kick, &count, sizeof(count)) < 0 && errno != EAGAIN)
			abort();
		return;
	}
	if (!f)
		return;
	kit.watchers[fd] = NULL;
	fk_timer_remove(f);
	f->fd = -1;
	fk_make_ready(f, CTP_REASON_IO_READ, (uint64_t)fd, NULL);
}

int fk_listen(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&a, &size))
		abort();
	*port = ntohs(a.sin_port);
	return fd;
}

int fk_connect(int port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	a.sin_port = htons((uint16_t)port);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)))
		abort();
	return fd;
}

/* ---- fibers ------------------------------------------------------------------------------- */

static void fiber_free(struct fk_fiber *f)
{
	corotracer_end(&f->trace);
	munmap(f->stack, STACK_SIZE);
	free(f);
}

static void fiber_main(unsigned high, unsigned low)
{
	struct fk_fiber *f = (struct fk_fiber *)((uintptr_t)high << 32 | low);

	fk_leave();
	f->fn(f->arg);
	fk_enter();
	f->is_done = true;
	kit.nr_alive--;
	if (f->joiner)
		fk_make_ready(f->joiner, CTP_REASON_JOIN, corotracer_id(&f->trace), NULL);
	current_worker()->running = NULL;
	current_worker()->ctx.uc_link = NULL;
	setcontext(&current_worker()->ctx);
}

struct fk_fiber *fk_spawn_at(const char *name, fk_function *fn, void *arg, int priority, int worker,
			     struct corotracer_site *site)
{
	struct fk_fiber *f = calloc(1, sizeof(*f));
	struct fk_fiber *self = fk_self();

	f->stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);
	if (f->stack == MAP_FAILED)
		abort();
	f->fn = fn;
	f->arg = arg;
	f->priority = priority;
	f->worker = worker;
	f->fd = -1;
	getcontext(&f->ctx);
	f->ctx.uc_stack.ss_sp = f->stack;
	f->ctx.uc_stack.ss_size = STACK_SIZE;
	makecontext(&f->ctx, (void (*)(void))fiber_main, 2, (unsigned)((uintptr_t)f >> 32),
		    (unsigned)(uintptr_t)f);
	corotracer_begin_at(&f->trace, name, self ? &self->trace : NULL, site);
	fk_enter();
	kit.nr_alive++;
	push_ready(f);
	fk_leave();
	return f;
}

void fk_detach(struct fk_fiber *f)
{
	fk_enter();
	f->is_detached = true;
	if (f->is_done)
		fiber_free(f);
	fk_leave();
}

void fk_cancel(struct fk_fiber *f)
{
	fk_enter();
	fk_timer_remove(f);
	if (f->fd >= 0)
		kit.watchers[f->fd] = NULL;
	kit.nr_alive--;
	corotracer_finish(&f->trace, CTP_END_CANCELLED);
	fiber_free(f);
	fk_leave();
}

uint64_t fk_id(const struct fk_fiber *f)
{
	return corotracer_id(&f->trace);
}

void fk_join_at(struct fk_fiber *f, struct corotracer_site *site)
{
	fk_enter();
	if (f->is_done) {
		fiber_free(f);
		fk_leave();
		return;
	}
	f->joiner = fk_self();
	fk_switch_out(CTP_REASON_JOIN, corotracer_id(&f->trace), site);
	fk_enter();
	fiber_free(f);
	fk_leave();
}

void fk_yield_at(struct corotracer_site *site)
{
	fk_enter();
	corotracer_suspend_on(&fk_self()->trace, __builtin_return_address(0), site,
			      CTP_REASON_YIELD, 0);
	struct fk_worker *w = current_worker();
	struct fk_fiber *f = w->running;

	w->running = NULL;
	push_ready(f);
	swapcontext(&f->ctx, &w->ctx);
}

/* ---- threads ------------------------------------------------------------------------------ */

static int poll_timeout(void)
{
	uint64_t now = fk_now_ns(), next = kit.end;

	if (kit.timers && kit.timers->deadline < next)
		next = kit.timers->deadline;
	return next <= now ? 0 : (int)((next - now + 999999) / 1000000);
}

static void poll_events(int timeout)
{
	struct epoll_event events[64];
	int n;

	kit.is_polling = true;
	fk_leave();
	n = epoll_wait(kit.epoll, events, 64, timeout);
	fk_enter();
	kit.is_polling = false;
	for (int i = 0; i < n; i++)
		fd_event(events[i].data.fd);
}

static void wait_for_work(void)
{
	struct timespec t;

	if (!kit.is_polling) {
		poll_events(poll_timeout());
		return;
	}
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += 50000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	kit.nr_waiting++;
	pthread_cond_timedwait(&kit.work, &kit.lock, &t);
	kit.nr_waiting--;
}

static void run_fiber(struct fk_worker *w, struct fk_fiber *f)
{
	w->running = f;
	corotracer_resume(&f->trace);
	if (f->has_started)
		fk_leave();
	f->has_started = true;
	swapcontext(&w->ctx, &f->ctx);
	if (f->is_done) {
		corotracer_done(&f->trace);
		if (f->is_detached)
			fiber_free(f);
	}
}

static void *worker_main(void *arg)
{
	struct fk_worker *w = arg;
	unsigned round = 0;

	this_worker = w;
	fk_enter();
	while (!kit.is_stopping && kit.nr_alive && fk_now_ns() < kit.end) {
		struct fk_fiber *f;

		fire_timers();
		if (++round % 61 == 0 && !kit.is_polling)
			poll_events(0);
		f = pick_ready(w);
		if (f)
			run_fiber(w, f);
		else
			wait_for_work();
	}
	kick_worker();
	fk_leave();
	return NULL;
}

void fk_setup(int workers, enum fk_policy policy)
{
	struct epoll_event e = { .events = EPOLLIN };

	corotracer_init();
	kit.nr_workers = workers;
	kit.policy = policy;
	kit.epoll = epoll_create1(EPOLL_CLOEXEC);
	kit.kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	e.data.fd = kit.kick;
	epoll_ctl(kit.epoll, EPOLL_CTL_ADD, kit.kick, &e);
	for (int i = 0; i < workers; i++)
		kit.workers[i].index = i;
}

void fk_stop(void)
{
	fk_enter();
	kit.is_stopping = true;
	kick_worker();
	fk_leave();
}

void fk_run(int ms)
{
	const char *extra = getenv("CORPUS_EXTRA_MS");
	pthread_t threads[MOST_WORKERS];

	kit.end = fk_now_ns() + (uint64_t)(ms + (extra ? atoi(extra) : 0)) * 1000000u;
	for (int i = 1; i < kit.nr_workers; i++)
		if (pthread_create(&threads[i], NULL, worker_main, &kit.workers[i]))
			abort();
	worker_main(&kit.workers[0]);
	for (int i = 1; i < kit.nr_workers; i++)
		pthread_join(threads[i], NULL);
}

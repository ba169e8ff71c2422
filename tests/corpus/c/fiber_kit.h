/* SPDX-License-Identifier: MIT */
/*
 * fiber_kit.h - fibers on several threads: ucontext, epoll, timers, and four orders of the queue.
 *
 * One lock protects everything.  A wait is a macro, so that the trace has the line of the caller.
 */
#ifndef FIBER_KIT_H
#define FIBER_KIT_H

#include <corotracer/corotracer.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fk_policy { FK_FIFO, FK_LIFO, FK_PRIORITY, FK_STEAL };

struct fk_fiber;
typedef void fk_function(void *arg);

struct fk_list {
	struct fk_fiber *first, *last;
};

/* ---- scheduler ---------------------------------------------------------------------------- */

void fk_setup(int workers, enum fk_policy policy);
/* Runs fibers on this and the other threads until none is left, fk_stop(), or after @ms. */
void fk_run(int ms);
void fk_stop(void);
uint64_t fk_now_ns(void);
struct fk_fiber *fk_self(void);
int fk_worker_index(void);

struct fk_fiber *fk_spawn_at(const char *name, fk_function *fn, void *arg, int priority, int worker,
			     struct corotracer_site *site);
#define fk_spawn(name, fn, arg) fk_spawn_at((name), (fn), (arg), 0, -1, COROTRACER_HERE)
#define fk_spawn_prio(name, fn, arg, prio) \
	fk_spawn_at((name), (fn), (arg), (prio), -1, COROTRACER_HERE)
#define fk_spawn_on(name, fn, arg, worker) \
	fk_spawn_at((name), (fn), (arg), 0, (worker), COROTRACER_HERE)
/* A joined fiber's memory is freed by fk_join(), that of a detached one at its end. */
void fk_detach(struct fk_fiber *f);
uint64_t fk_id(const struct fk_fiber *f);

void fk_join_at(struct fk_fiber *f, struct corotracer_site *site);
#define fk_join(f) fk_join_at((f), COROTRACER_HERE)
void fk_yield_at(struct corotracer_site *site);
#define fk_yield() fk_yield_at(COROTRACER_HERE)
/* False: it was cut short. */
bool fk_sleep_at(int ms, struct corotracer_site *site);
#define fk_sleep(ms) fk_sleep_at((ms), COROTRACER_HERE)
/* The low level: wait until another one makes it ready. */
void fk_park_at(uint32_t reason, uint64_t resource, struct corotracer_site *site);
#define fk_park(reason, resource) fk_park_at((reason), (uint64_t)(resource), COROTRACER_HERE)
void fk_ready_at(struct fk_fiber *f, uint32_t reason, uint64_t resource,
		 struct corotracer_site *site);
#define fk_ready(f, reason, resource) \
	fk_ready_at((f), (reason), (uint64_t)(resource), COROTRACER_HERE)
/* End a fiber that is suspended: it is never resumed, and its frame is freed. */
void fk_cancel(struct fk_fiber *f);

/* ---- descriptors -------------------------------------------------------------------------- */

/* False after @ms (-1: no limit). */
bool fk_readable_at(int fd, int ms, struct corotracer_site *site);
#define fk_readable(fd)         fk_readable_at((fd), -1, COROTRACER_HERE)
#define fk_readable_for(fd, ms) fk_readable_at((fd), (ms), COROTRACER_HERE)
void fk_acceptable_at(int fd, struct corotracer_site *site);
#define fk_acceptable(fd) fk_acceptable_at((fd), COROTRACER_HERE)
/* Announced to the tracer; a fiber that waits for it is not woken. */
void fk_close_at(int fd, struct corotracer_site *site);
#define fk_close(fd) fk_close_at((fd), COROTRACER_HERE)
/* No events of @fd any more; a fiber that waits for it stays suspended. */
void fk_unwatch(int fd);
int fk_listen(int *port);
int fk_connect(int port);

/* ---- things to wait for ------------------------------------------------------------------- */

struct fk_mutex {
	struct fk_fiber *owner;
	struct fk_list waiters;
};
void fk_lock_at(struct fk_mutex *m, struct corotracer_site *site);
void fk_unlock_at(struct fk_mutex *m, struct corotracer_site *site);
#define fk_lock(m)   fk_lock_at((m), COROTRACER_HERE)
#define fk_unlock(m) fk_unlock_at((m), COROTRACER_HERE)

struct fk_rwlock {
	int readers;
	bool writer;
	struct fk_list waiters;
};
void fk_rdlock_at(struct fk_rwlock *l, struct corotracer_site *site);
void fk_wrlock_at(struct fk_rwlock *l, struct corotracer_site *site);
void fk_rwunlock_at(struct fk_rwlock *l, struct corotracer_site *site);
#define fk_rdlock(l)   fk_rdlock_at((l), COROTRACER_HERE)
#define fk_wrlock(l)   fk_wrlock_at((l), COROTRACER_HERE)
#define fk_rwunlock(l) fk_rwunlock_at((l), COROTRACER_HERE)

struct fk_sem {
	int count;
	struct fk_list waiters;
};
void fk_acquire_at(struct fk_sem *s, struct corotracer_site *site);
void fk_release_at(struct fk_sem *s, struct corotracer_site *site);
#define fk_acquire(s) fk_acquire_at((s), COROTRACER_HERE)
#define fk_release(s) fk_release_at((s), COROTRACER_HERE)

struct fk_cond {
	struct fk_list waiters;
};
/* Releases @m meanwhile; NULL: no lock. */
void fk_cond_wait_at(struct fk_cond *c, struct fk_mutex *m, struct corotracer_site *site);
void fk_cond_wake_at(struct fk_cond *c, int most, struct corotracer_site *site);
#define fk_cond_wait(c, m)   fk_cond_wait_at((c), (m), COROTRACER_HERE)
#define fk_cond_signal(c)    fk_cond_wake_at((c), 1, COROTRACER_HERE)
#define fk_cond_broadcast(c) fk_cond_wake_at((c), 1 << 30, COROTRACER_HERE)

#define FK_CHAN_MAX          64
struct fk_chan {
	void *items[FK_CHAN_MAX];
	int size, count, head;
	bool is_closed;
	struct fk_list senders, receivers;
};
bool fk_send_at(struct fk_chan *c, void *item, struct corotracer_site *site);
/* NULL: the channel is closed and empty. */
void *fk_recv_at(struct fk_chan *c, struct corotracer_site *site);
void fk_chan_close_at(struct fk_chan *c, struct corotracer_site *site);
#define fk_send(c, item) fk_send_at((c), (item), COROTRACER_HERE)
#define fk_recv(c)       fk_recv_at((c), COROTRACER_HERE)
#define fk_chan_close(c) fk_chan_close_at((c), COROTRACER_HERE)

#endif

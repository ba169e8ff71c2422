/* SPDX-License-Identifier: MIT */
/*
 * loop_sync.h - locks, semaphores, conditions and channels for the fibers of loop_sched.h.
 *
 * All are served in the order of arrival.  A lock is handed to the first waiter by its release.
 */
#ifndef TESTS_CORPUS_LOOP_SYNC_H
#define TESTS_CORPUS_LOOP_SYNC_H

#include "loop_sched.h"

struct fiber_waiter {
	struct fiber *fiber;
	struct fiber_waiter *next;
};

struct fiber_queue {
	struct fiber_waiter *first, **last;
};

/* Wait in @q until fiber_queue_wake() takes this fiber from it. */
void fiber_queue_wait(struct corotracer_site *site, struct fiber_queue *q, uint32_t reason,
		      const void *resource);
/* Wake the first waiter; NULL: no fiber waits. */
struct fiber *fiber_queue_wake(struct corotracer_site *site, struct fiber_queue *q);

struct fiber_mutex {
	struct fiber *holder;
	struct fiber_queue queue;
};

#define fiber_lock(m) fiber_lock_at(COROTRACER_HERE, (m))
void fiber_lock_at(struct corotracer_site *site, struct fiber_mutex *m);
#define fiber_unlock(m) fiber_unlock_at(COROTRACER_HERE, (m))
void fiber_unlock_at(struct corotracer_site *site, struct fiber_mutex *m);

struct fiber_sem {
	int permits;
	struct fiber_queue queue;
};

#define fiber_sem_take(s) fiber_sem_take_at(COROTRACER_HERE, (s))
void fiber_sem_take_at(struct corotracer_site *site, struct fiber_sem *s);
#define fiber_sem_give(s) fiber_sem_give_at(COROTRACER_HERE, (s))
void fiber_sem_give_at(struct corotracer_site *site, struct fiber_sem *s);

struct fiber_cond {
	struct fiber_queue queue;
};

#define fiber_cond_wait(c)      fiber_queue_wait(COROTRACER_HERE, &(c)->queue, CTP_REASON_USER, (c))
#define fiber_cond_signal(c)    ((void)fiber_queue_wake(COROTRACER_HERE, &(c)->queue))
#define fiber_cond_broadcast(c) fiber_cond_broadcast_at(COROTRACER_HERE, (c))
void fiber_cond_broadcast_at(struct corotracer_site *site, struct fiber_cond *c);

/* A channel of @capacity pointers, at most 16. */
struct fiber_chan {
	unsigned capacity, nr, head;
	bool is_closed;
	void *items[16];
	struct fiber_queue senders, receivers;
};

#define fiber_send(c, item) fiber_send_at(COROTRACER_HERE, (c), (item))
void fiber_send_at(struct corotracer_site *site, struct fiber_chan *c, void *item);
/* NULL: closed and empty. */
#define fiber_recv(c) fiber_recv_at(COROTRACER_HERE, (c))
void *fiber_recv_at(struct corotracer_site *site, struct fiber_chan *c);
#define fiber_chan_close(c) fiber_chan_close_at(COROTRACER_HERE, (c))
void fiber_chan_close_at(struct corotracer_site *site, struct fiber_chan *c);

#endif

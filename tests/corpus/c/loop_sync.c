/* SPDX-License-Identifier: MIT */
/* loop_sync.c - queues of waiting fibers, and what is built on them. */
#include "loop_sync.h"

void fiber_queue_wait(struct corotracer_site *site, struct fiber_queue *q, uint32_t reason,
		      const void *resource)
{
	struct fiber_waiter self = { fiber_current(), NULL };

	if (!q->first)
		q->last = &q->first;
	*q->last = &self;
	q->last = &self.next;
	fiber_park_at(site, reason, (uint64_t)(uintptr_t)resource);
}

struct fiber *fiber_queue_wake(struct corotracer_site *site, struct fiber_queue *q)
{
	struct fiber_waiter *w = q->first;
	struct fiber *f;

	if (!w)
		return NULL;
	f = w->fiber;
	q->first = w->next;
	fiber_unpark_at(site, f);
	return f;
}

void fiber_lock_at(struct corotracer_site *site, struct fiber_mutex *m)
{
	if (m->holder)
		fiber_queue_wait(site, &m->queue, CTP_REASON_MUTEX, m);
	else
		m->holder = fiber_current();
	corotracer_acquired_at(&fiber_current()->trace, (uint64_t)(uintptr_t)m, site);
}

void fiber_unlock_at(struct corotracer_site *site, struct fiber_mutex *m)
{
	corotracer_released_at(&fiber_current()->trace, (uint64_t)(uintptr_t)m, site);
	m->holder = fiber_queue_wake(site, &m->queue);
}

void fiber_sem_take_at(struct corotracer_site *site, struct fiber_sem *s)
{
	if (s->permits == 0)
		fiber_queue_wait(site, &s->queue, CTP_REASON_SEMAPHORE, s);
	else
		s->permits--;
	corotracer_acquired_at(&fiber_current()->trace, (uint64_t)(uintptr_t)s, site);
}

void fiber_sem_give_at(struct corotracer_site *site, struct fiber_sem *s)
{
	corotracer_released_at(&fiber_current()->trace, (uint64_t)(uintptr_t)s, site);
	if (!fiber_queue_wake(site, &s->queue))
		s->permits++;
}

void fiber_cond_broadcast_at(struct corotracer_site *site, struct fiber_cond *c)
{
	while (fiber_queue_wake(site, &c->queue))
		;
}

void fiber_send_at(struct corotracer_site *site, struct fiber_chan *c, void *item)
{
	while (c->nr == c->capacity)
		fiber_queue_wait(site, &c->senders, CTP_REASON_CHANNEL_SEND, c);
	c->items[(c->head + c->nr++) % c->capacity] = item;
	fiber_queue_wake(site, &c->receivers);
}

void *fiber_recv_at(struct corotracer_site *site, struct fiber_chan *c)
{
	void *item;

	while (c->nr == 0) {
		if (c->is_closed)
			return NULL;
		fiber_queue_wait(site, &c->receivers, CTP_REASON_CHANNEL_RECV, c);
	}
	item = c->items[c->head];
	c->head = (c->head + 1) % c->capacity;
	c->nr--;
	fiber_queue_wake(site, &c->senders);
	return item;
}

void fiber_chan_close_at(struct corotracer_site *site, struct fiber_chan *c)
{
	c->is_closed = true;
	while (fiber_queue_wake(site, &c->receivers))
		;
}

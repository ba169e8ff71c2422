// SPDX-License-Identifier: MIT
/* fiber_kit_sync.c - locks, semaphores, conditions and channels of fiber_kit.h. */
#include "fiber_kit_inside.h"

void fk_lock_at(struct fk_mutex *m, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	fk_enter();
	if (!m->owner) {
		m->owner = self;
		fk_leave();
	} else {
		fk_list_push(&m->waiters, self);
		fk_switch_out(CTP_REASON_MUTEX, (uint64_t)(uintptr_t)m, site);
	}
	corotracer_acquired_at(&self->trace, (uint64_t)(uintptr_t)m, site);
}

void fk_unlock_at(struct fk_mutex *m, struct corotracer_site *site)
{
	corotracer_released_at(&fk_self()->trace, (uint64_t)(uintptr_t)m, site);
	fk_enter();
	m->owner = fk_list_pop(&m->waiters);
	if (m->owner)
		fk_make_ready(m->owner, CTP_REASON_MUTEX, (uint64_t)(uintptr_t)m, site);
	fk_leave();
}

static void rw_wait(struct fk_rwlock *l, bool is_writer, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	self->is_writer = is_writer;
	fk_list_push(&l->waiters, self);
	fk_switch_out(CTP_REASON_MUTEX, (uint64_t)(uintptr_t)l, site);
}

/* A reader waits behind a writer that waits. */
void fk_rdlock_at(struct fk_rwlock *l, struct corotracer_site *site)
{
	fk_enter();
	if (!l->writer && !l->waiters.first) {
		l->readers++;
		fk_leave();
	} else {
		rw_wait(l, false, site);
	}
	corotracer_acquired_at(&fk_self()->trace, (uint64_t)(uintptr_t)l, site);
}

void fk_wrlock_at(struct fk_rwlock *l, struct corotracer_site *site)
{
	fk_enter();
	if (!l->writer && !l->readers) {
		l->writer = true;
		fk_leave();
	} else {
		rw_wait(l, true, site);
	}
	corotracer_acquired_at(&fk_self()->trace, (uint64_t)(uintptr_t)l, site);
}

void fk_rwunlock_at(struct fk_rwlock *l, struct corotracer_site *site)
{
	corotracer_released_at(&fk_self()->trace, (uint64_t)(uintptr_t)l, site);
	fk_enter();
	if (l->writer)
		l->writer = false;
	else
		l->readers--;
	while (l->waiters.first && !l->writer && !(l->waiters.first->is_writer && l->readers)) {
		struct fk_fiber *f = fk_list_pop(&l->waiters);

		if (f->is_writer)
			l->writer = true;
		else
			l->readers++;
		fk_make_ready(f, CTP_REASON_MUTEX, (uint64_t)(uintptr_t)l, site);
	}
	fk_leave();
}

void fk_acquire_at(struct fk_sem *s, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	fk_enter();
	if (s->count > 0) {
		s->count--;
		fk_leave();
	} else {
		fk_list_push(&s->waiters, self);
		fk_switch_out(CTP_REASON_SEMAPHORE, (uint64_t)(uintptr_t)s, site);
	}
	corotracer_acquired_at(&self->trace, (uint64_t)(uintptr_t)s, site);
}

void fk_release_at(struct fk_sem *s, struct corotracer_site *site)
{
	struct fk_fiber *f;

	corotracer_released_at(&fk_self()->trace, (uint64_t)(uintptr_t)s, site);
	fk_enter();
	f = fk_list_pop(&s->waiters);
	if (f)
		fk_make_ready(f, CTP_REASON_SEMAPHORE, (uint64_t)(uintptr_t)s, site);
	else
		s->count++;
	fk_leave();
}

void fk_cond_wait_at(struct fk_cond *c, struct fk_mutex *m, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	if (m)
		corotracer_released_at(&self->trace, (uint64_t)(uintptr_t)m, site);
	fk_enter();
	if (m) {
		m->owner = fk_list_pop(&m->waiters);
		if (m->owner)
			fk_make_ready(m->owner, CTP_REASON_MUTEX, (uint64_t)(uintptr_t)m, site);
	}
	fk_list_push(&c->waiters, self);
	fk_switch_out(CTP_REASON_USER, (uint64_t)(uintptr_t)c, site);
	if (m)
		fk_lock_at(m, site);
}

void fk_cond_wake_at(struct fk_cond *c, int most, struct corotracer_site *site)
{
	fk_enter();
	for (; most > 0 && c->waiters.first; most--)
		fk_make_ready(fk_list_pop(&c->waiters), CTP_REASON_USER, (uint64_t)(uintptr_t)c,
			      site);
	fk_leave();
}

/* With the lock held. */
static void chan_put(struct fk_chan *c, void *item, struct corotracer_site *site)
{
	struct fk_fiber *f = fk_list_pop(&c->receivers);

	if (f) {
		f->item = item;
		fk_make_ready(f, CTP_REASON_CHANNEL_RECV, (uint64_t)(uintptr_t)c, site);
		return;
	}
	c->items[(c->head + c->count) % FK_CHAN_MAX] = item;
	c->count++;
}

bool fk_send_at(struct fk_chan *c, void *item, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self();

	fk_enter();
	if (!c->is_closed && !c->receivers.first && c->count >= c->size) {
		self->item = item;
		fk_list_push(&c->senders, self);
		fk_switch_out(CTP_REASON_CHANNEL_SEND, (uint64_t)(uintptr_t)c, site);
		return self->item == NULL;
	}
	if (!c->is_closed)
		chan_put(c, item, site);
	fk_leave();
	return !c->is_closed;
}

void *fk_recv_at(struct fk_chan *c, struct corotracer_site *site)
{
	struct fk_fiber *self = fk_self(), *sender;
	void *item = NULL;

	fk_enter();
	if (!c->count && !c->is_closed) {
		self->item = NULL;
		fk_list_push(&c->receivers, self);
		fk_switch_out(CTP_REASON_CHANNEL_RECV, (uint64_t)(uintptr_t)c, site);
		return self->item;
	}
	if (c->count) {
		item = c->items[c->head];
		c->head = (c->head + 1) % FK_CHAN_MAX;
		c->count--;
		sender = fk_list_pop(&c->senders);
		if (sender) {
			chan_put(c, sender->item, site);
			sender->item = NULL;
			fk_make_ready(sender, CTP_REASON_CHANNEL_SEND, (uint64_t)(uintptr_t)c,
				      site);
		}
	}
	fk_leave();
	return item;
}

void fk_chan_close_at(struct fk_chan *c, struct corotracer_site *site)
{
	struct fk_fiber *f;

	fk_enter();
	c->is_closed = true;
	while ((f = fk_list_pop(&c->receivers)))
		fk_make_ready(f, CTP_REASON_CHANNEL_RECV, (uint64_t)(uintptr_t)c, site);
	while ((f = fk_list_pop(&c->senders)))
		fk_make_ready(f, CTP_REASON_CHANNEL_SEND, (uint64_t)(uintptr_t)c, site);
	fk_leave();
}

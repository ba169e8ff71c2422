/* SPDX-License-Identifier: MIT */
/*
 * channel.c - a ring of messages and two lists of waiters.
 *
 * A waiter is on the stack of its coroutine.  While it is in a list, the lock guards it.
 * The thread that takes it out of the list owns it until that thread calls coro_ready(),
 * once.  The waiting coroutine does not access it before it is ready again: so nothing is
 * checked twice, and no wake-up can be lost.
 *
 * A message for a waiting receiver is copied to it directly, not through the ring; so the
 * ring is empty whenever receivers wait, and full whenever senders do.
 */
#include "channel.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sched.h"

struct waiter {
	struct coro *co;
	void *message; /* source (senders) or destination (receivers) */
	bool served;   /* false: the channel was closed */
	struct waiter *next;
};

struct waiters {
	struct waiter *first, **last;
};

struct channel {
	pthread_mutex_t lock;
	size_t capacity, message_size;

	/* guarded by lock */
	size_t head, nr; /* of the ring */
	struct waiters senders, receivers;
	bool closed;
	unsigned char ring[];
};

static void waiters_init(struct waiters *list)
{
	list->first = NULL;
	list->last = &list->first;
}

static void waiters_add(struct waiters *list, struct waiter *w)
{
	w->next = NULL;
	*list->last = w;
	list->last = &w->next;
}

static struct waiter *waiters_take(struct waiters *list)
{
	struct waiter *w = list->first;

	if (!w)
		return NULL;
	list->first = w->next;
	if (!list->first)
		list->last = &list->first;
	return w;
}

static void ring_put(struct channel *ch, const void *message)
{
	size_t i = (ch->head + ch->nr++) % ch->capacity;

	memcpy(ch->ring + i * ch->message_size, message, ch->message_size);
}

static void ring_get(struct channel *ch, void *message)
{
	memcpy(message, ch->ring + ch->head * ch->message_size, ch->message_size);
	ch->head = (ch->head + 1) % ch->capacity;
	ch->nr--;
}

struct channel *channel_new(size_t capacity, size_t message_size)
{
	struct channel *ch = calloc(1, sizeof(*ch) + capacity * message_size);

	if (!ch)
		return NULL;
	pthread_mutex_init(&ch->lock, NULL);
	ch->capacity = capacity;
	ch->message_size = message_size;
	waiters_init(&ch->senders);
	waiters_init(&ch->receivers);
	return ch;
}

void channel_free(struct channel *ch)
{
	if (!ch)
		return;
	pthread_mutex_destroy(&ch->lock);
	free(ch);
}

/* Called with the lock held, releases it.  Returns when @w is served or the channel closes. */
static bool wait_in(struct channel *ch, struct waiters *list, void *message,
		    const struct coro_wait *wait)
{
	struct waiter w = { .co = coro_self(), .message = message };

	waiters_add(list, &w);
	pthread_mutex_unlock(&ch->lock);
	coro_park(wait);
	return w.served;
}

/* Called with the lock held, releases it: @w is not in a list any more and has its message. */
static bool serve(struct channel *ch, struct waiter *w, struct corotracer_site *site)
{
	w->served = true;
	pthread_mutex_unlock(&ch->lock);
	coro_ready(w->co, site);
	return true;
}

CORO_WAITS bool channel_send_at(struct channel *ch, const void *message,
				struct corotracer_site *site)
{
	struct coro_wait wait = { CORO_CALLER, site, CTP_REASON_CHANNEL_SEND, (uintptr_t)ch };
	struct waiter *receiver;
	bool closed;

	pthread_mutex_lock(&ch->lock);
	receiver = waiters_take(&ch->receivers);
	if (receiver) {
		memcpy(receiver->message, message, ch->message_size);
		return serve(ch, receiver, site);
	}
	if (!ch->closed && ch->nr == ch->capacity)
		/* The cast is safe: the message of a sender is only read. */
		return wait_in(ch, &ch->senders, (void *)message, &wait);
	closed = ch->closed;
	if (!closed)
		ring_put(ch, message);
	pthread_mutex_unlock(&ch->lock);
	return !closed;
}

CORO_WAITS bool channel_recv_at(struct channel *ch, void *message, struct corotracer_site *site)
{
	struct coro_wait wait = { CORO_CALLER, site, CTP_REASON_CHANNEL_RECV, (uintptr_t)ch };
	struct waiter *sender;
	bool got;

	pthread_mutex_lock(&ch->lock);
	got = ch->nr > 0;
	if (got)
		ring_get(ch, message);
	sender = waiters_take(&ch->senders);
	if (sender) {
		if (got)
			ring_put(ch, sender->message); /* keeps the order of the messages */
		else
			memcpy(message, sender->message, ch->message_size);
		return serve(ch, sender, site);
	}
	if (!got && !ch->closed)
		return wait_in(ch, &ch->receivers, message, &wait);
	pthread_mutex_unlock(&ch->lock);
	return got;
}

/* The waiters are not in the channel any more: no other thread can access them. */
static void wake_all(struct waiter *w, struct corotracer_site *site)
{
	struct waiter *next;

	for (; w; w = next) {
		next = w->next; /* @w is not valid after coro_ready() */
		coro_ready(w->co, site);
	}
}

void channel_close_at(struct channel *ch, unsigned nr_forgotten, struct corotracer_site *site)
{
	struct waiter *senders, *receivers;

	pthread_mutex_lock(&ch->lock);
	ch->closed = true;
	while (nr_forgotten-- > 0)
		waiters_take(&ch->receivers);
	senders = ch->senders.first;
	receivers = ch->receivers.first;
	waiters_init(&ch->senders);
	waiters_init(&ch->receivers);
	pthread_mutex_unlock(&ch->lock);

	wake_all(senders, site);
	wake_all(receivers, site);
}

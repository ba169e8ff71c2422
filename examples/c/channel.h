/* SPDX-License-Identifier: MIT */
/*
 * channel.h - bounded channels between coroutines, on any threads.
 *
 *	struct channel *ch = channel_new(16, sizeof(struct job));
 *
 *	channel_send(ch, &job);			// waits while the channel is full
 *	while (channel_recv(ch, &job))		// waits while it is empty
 *		...
 *	channel_close(ch);			// receivers get the rest, then false
 *
 * Messages are copied.  Both sides are served in FIFO order.  With capacity 0 a send waits
 * for its receiver.
 */
#ifndef EXAMPLES_CHANNEL_H
#define EXAMPLES_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include <corotracer/corotracer.h>

struct channel;

/* NULL: out of memory. */
struct channel *channel_new(size_t capacity, size_t message_size);

/* No coroutine waits in the channel or uses it again.  Accepts NULL. */
void channel_free(struct channel *ch);

/* false: the channel is closed, and the message was not sent. */
#define channel_send(ch, message) channel_send_at((ch), (message), COROTRACER_HERE)
bool channel_send_at(struct channel *ch, const void *message, struct corotracer_site *site);

/* false: the channel is closed and empty. */
#define channel_recv(ch, message) channel_recv_at((ch), (message), COROTRACER_HERE)
bool channel_recv_at(struct channel *ch, void *message, struct corotracer_site *site);

/* Wakes all coroutines that wait in the channel. */
#define channel_close(ch) channel_close_forgetting((ch), 0)

/*
 * The bug for corotracer to find, on purpose: as channel_close(), but
 * @nr of the waiting receivers are removed from the list and not woken.
 */
#define channel_close_forgetting(ch, nr) channel_close_at((ch), (nr), COROTRACER_HERE)
void channel_close_at(struct channel *ch, unsigned nr_forgotten, struct corotracer_site *site);

#endif

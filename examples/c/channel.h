/* SPDX-License-Identifier: MIT */
/*
 * channel.h - bounded channels between coroutines, on whatever threads they run.
 *
 *	struct channel *ch = channel_new(16, sizeof(struct job));
 *
 *	channel_send(ch, &job);			// waits while it is full
 *	while (channel_recv(ch, &job))		// waits while it is empty
 *		...
 *	channel_close(ch);			// receivers get the rest, then false
 *
 * Messages are copied.  First come, first served, on both sides.  Capacity 0 is
 * allowed: then a send waits for its receiver.
 */
#ifndef EXAMPLES_CHANNEL_H
#define EXAMPLES_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

#include <corotracer/corotracer.h>

struct channel;

/* NULL: no memory. */
struct channel *channel_new(size_t capacity, size_t message_size);

/* Nobody waits in it any more, or ever will again.  Accepts NULL. */
void channel_free(struct channel *ch);

/* false: closed, and the message went nowhere. */
#define channel_send(ch, message) channel_send_at((ch), (message), COROTRACER_HERE)
bool channel_send_at(struct channel *ch, const void *message, struct corotracer_site *site);

/* false: closed, and nothing is left in it. */
#define channel_recv(ch, message) channel_recv_at((ch), (message), COROTRACER_HERE)
bool channel_recv_at(struct channel *ch, void *message, struct corotracer_site *site);

/* Wakes everybody who waits in it. */
#define channel_close(ch) channel_close_forgetting((ch), 0)

/*
 * The bug that corotracer is there to find, on purpose: as channel_close(), but
 * @nr of the receivers that wait are dropped from the list and not woken.
 */
#define channel_close_forgetting(ch, nr) channel_close_at((ch), (nr), COROTRACER_HERE)
void channel_close_at(struct channel *ch, unsigned nr_forgotten, struct corotracer_site *site);

#endif

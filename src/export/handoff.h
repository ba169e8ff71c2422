/* SPDX-License-Identifier: MIT */
/*
 * handoff.h - pass buffers from the thread that creates rows to the thread that loads them.
 *
 * LOAD DATA requests data when it needs some; the driver delivers items when it has some.  A
 * few buffers between them let both threads run.
 */
#ifndef EXPORT_HANDOFF_H
#define EXPORT_HANDOFF_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#define HANDOFF_BUFFERS 4
#define HANDOFF_SIZE    ((size_t)256 * 1024)

struct handoff {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char *data[HANDOFF_BUFFERS];
	size_t used[HANDOFF_BUFFERS];
	unsigned long given, taken; /* buffers so far; under the lock, with the flags */
	bool is_over;               /* the producer passes nothing more */
	bool is_given_up;           /* set by the producer: the load must be aborted */
	bool is_refused;            /* set by the consumer: it takes nothing more */
	size_t at; /* position of the consumer in its buffer; used by the consumer only */
};

/* Returns 0 or -ENOMEM. */
int handoff_init(struct handoff *h);
void handoff_release(struct handoff *h);

/* For the producer: waits for a buffer of HANDOFF_SIZE to fill; NULL: the consumer has stopped. */
char *handoff_buffer(struct handoff *h);
void handoff_give(struct handoff *h, size_t used);
void handoff_end(struct handoff *h, bool give_up);

/* For the consumer: up to @size bytes; 0 at the end, -1 if the producer aborted. */
int handoff_take(struct handoff *h, char *data, size_t size);
void handoff_refuse(struct handoff *h);

#endif

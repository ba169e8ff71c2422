/* SPDX-License-Identifier: MIT */
/*
 * handoff.h - buffers from the thread that makes rows to the one that loads them.
 *
 * LOAD DATA asks for its data when it wants some; the driver brings items when it has some.
 * Between them are a few buffers, so that both run.
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
	unsigned long given, taken; /* buffers so far; under the lock, as all below */
	bool is_over;               /* nothing more is given */
	bool is_given_up;           /* by the giver: what there is, is not to be used */
	bool is_refused;            /* by the taker: nothing more is taken */
	size_t at;                  /* the taker's place in its buffer */
};

/* 0 or -ENOMEM. */
int handoff_init(struct handoff *h);
void handoff_release(struct handoff *h);

/* The giver's: a buffer of HANDOFF_SIZE to fill, waited for; NULL: the taker is gone. */
char *handoff_buffer(struct handoff *h);
void handoff_give(struct handoff *h, size_t used);
void handoff_end(struct handoff *h, bool give_up);

/* The taker's: up to @size bytes; 0 at the end, -1 if the giver gave up. */
int handoff_take(struct handoff *h, char *data, size_t size);
void handoff_refuse(struct handoff *h);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ring_sched.h - coroutines in a ring, one after the other on one thread, with channels.
 *
 * Traced with the least that the SDK needs: creation, resume, suspend with an address, end.
 */
#ifndef TESTS_CORPUS_RING_SCHED_H
#define TESTS_CORPUS_RING_SCHED_H

#include <stdbool.h>
#include <stdint.h>

struct ring_chan {
	unsigned capacity, nr, head;
	long items[16];
	bool is_closed;
};

void ring_spawn(void (*fn)(long arg), long arg, const char *name);
/* Returns the number of coroutines that have not ended. */
int ring_run(unsigned ms);

void ring_pass(void); /* let the others run */
void ring_sleep(unsigned ms);
void ring_send(struct ring_chan *c, long item);
bool ring_recv(struct ring_chan *c, long *item); /* false: closed and empty */
void ring_close(struct ring_chan *c);

#endif

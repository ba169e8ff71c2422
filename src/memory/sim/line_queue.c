/* SPDX-License-Identifier: MIT */
/* line_queue.c - the lines of a small, fully associative LRU cache. */
#include "memory/sim/line_queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define BUCKETS_PER_LINE 8u /* most are empty: a line that is not held costs no search */
#define ENTRIES_PER_LINE 16u
#define ENTRIES_MIN      4096u

int line_queue_init(struct line_queue *q, uint32_t size)
{
	uint32_t bits = 4, room = size * ENTRIES_PER_LINE;

	memset(q, 0, sizeof(*q));
	if (getrandom(&q->factor, sizeof(q->factor), GRND_NONBLOCK) != sizeof(q->factor))
		q->factor = (uint64_t)(uintptr_t)q * UINT64_C(0x9e3779b97f4a7c15);
	q->factor |= 1;
	while (UINT32_C(1) << bits < size * BUCKETS_PER_LINE)
		bits++;
	q->hash_shift = 64 - bits;
	q->size = size;
	q->room = room > ENTRIES_MIN ? room : ENTRIES_MIN;
	q->head = q->now = 1;
	q->last = q->second = LINE_QUEUE_NONE;
	q->nodes = calloc((size_t)size + 1, sizeof(*q->nodes));
	q->buckets = calloc((size_t)1 << bits, sizeof(*q->buckets));
	q->queue = calloc(q->room, sizeof(*q->queue));
	return q->nodes && q->buckets && q->queue ? 0 : -ENOMEM;
}

void line_queue_release(struct line_queue *q)
{
	free(q->nodes);
	free(q->buckets);
	free(q->queue);
	memset(q, 0, sizeof(*q));
}

void line_queue_close_up(struct line_queue *q)
{
	uint32_t at, to = 1;

	for (at = q->head; at < q->now; at++) {
		uint16_t node = q->queue[at];

		if (!node)
			continue;
		q->queue[to] = node;
		q->nodes[node].at = to++;
	}
	q->head = 1;
	q->now = to;
}

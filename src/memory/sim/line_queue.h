/* SPDX-License-Identifier: MIT */
/*
 * line_queue.h - the lines of a small, fully associative LRU cache.
 *
 * A hash finds the node of a line.  Every use appends the node to a queue and clears its entry from
 * before, so the first entry that is not clear is the oldest line.  When the queue is full, its
 * entries move to its start.  Everything is small enough for the first two caches of the host,
 * whatever memory the program uses.
 *
 * Programs often use two lines in turn: the queue does not follow the order of the two lines that
 * were used last until another line is used.
 */
#ifndef MEMORY_SIM_LINE_QUEUE_H
#define MEMORY_SIM_LINE_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_QUEUE_MIN  2u /* lines */
#define LINE_QUEUE_MAX  2048u
#define LINE_QUEUE_NONE UINT64_MAX

struct line_queue_node {
	uint64_t line;
	uint32_t at;    /* its entry; 0: none yet */
	uint16_t chain; /* the next node of the bucket; 0: none */
};

struct line_queue {
	struct line_queue_node *nodes; /* from 1 on */
	uint16_t *buckets;
	uint16_t *queue; /* from 1 on: nodes; 0: cleared */
	uint32_t head, now, room;
	uint32_t nr, size;     /* lines held now; at most */
	uint32_t hash_shift;   /* 64 - log2 of the number of buckets */
	uint64_t factor;       /* random and odd, so that a trace cannot cause collisions */
	uint64_t last, second; /* the lines that were used last; LINE_QUEUE_NONE: none */
	uint16_t last_node, second_node;
	bool is_swapped; /* the queue has these two in the other order */
};

/* Returns 0 or -ENOMEM. */
int line_queue_init(struct line_queue *q, uint32_t size);
void line_queue_release(struct line_queue *q);

/* The slow path of the functions below: move the entries to the start. */
void line_queue_close_up(struct line_queue *q);

static inline uint16_t *line_queue_bucket(const struct line_queue *q, uint64_t line)
{
	return &q->buckets[line * q->factor >> q->hash_shift];
}

static inline void line_queue_append(struct line_queue *q, uint16_t node)
{
	struct line_queue_node *n = &q->nodes[node];

	q->queue[n->at] = 0;
	n->at = q->now;
	q->queue[q->now++] = node;
	if (__builtin_expect(q->now == q->room, 0))
		line_queue_close_up(q);
}

/* A node for another line: a new one, or that of the oldest line, which is removed. */
static inline uint16_t line_queue_take_node(struct line_queue *q)
{
	uint16_t node, *at;

	if (q->nr < q->size)
		return (uint16_t)++q->nr;
	while (!q->queue[q->head])
		q->head++;
	node = q->queue[q->head];
	for (at = line_queue_bucket(q, q->nodes[node].line); *at != node; at = &q->nodes[*at].chain)
		;
	*at = q->nodes[node].chain;
	return node;
}

/* Record a use of @line, which is neither of the two lines that were used last. */
static inline bool line_queue_use_other(struct line_queue *q, uint64_t line)
{
	struct line_queue_node *nodes = q->nodes;
	uint16_t *bucket = line_queue_bucket(q, line), node;
	bool is_held;

	if (q->is_swapped) {
		q->is_swapped = false;
		line_queue_append(q, q->last_node);
	}
	for (node = *bucket; node && nodes[node].line != line; node = nodes[node].chain)
		;
	is_held = node;
	if (!is_held) {
		node = line_queue_take_node(q);
		nodes[node].line = line;
		nodes[node].chain = *bucket;
		*bucket = node;
	}
	line_queue_append(q, node);
	q->second = q->last;
	q->second_node = q->last_node;
	q->last = line;
	q->last_node = node;
	return is_held;
}

/* Record a use of @line.  Returns true if the line was held. */
static inline __attribute__((always_inline)) bool line_queue_use(struct line_queue *q,
								 uint64_t line)
{
	uint16_t node = q->second_node;

	if (q->last == line)
		return true;
	if (q->second != line)
		return line_queue_use_other(q, line);
	q->second = q->last;
	q->second_node = q->last_node;
	q->last = line;
	q->last_node = node;
	q->is_swapped ^= true;
	return true;
}

#endif

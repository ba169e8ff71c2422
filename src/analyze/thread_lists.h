/* SPDX-License-Identifier: MIT */
/*
 * thread_lists.h - what is known of each thread, as lists of times in order.
 *
 * Every element begins with a struct time_span; @size is that of an element.  Elements of one list
 * hardly overlap.
 */
#ifndef ANALYZE_THREAD_LISTS_H
#define ANALYZE_THREAD_LISTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

struct time_span {
	uint64_t from_ts, to_ts;
};

/* All zero: empty. */
struct time_list {
	char *elements; /* by from_ts */
	size_t nr, room;
};

/* All zero: no thread. */
struct thread_lists {
	struct u64map numbers; /* key of a thread to 1 + index in threads */
	struct time_list *threads;
	size_t nr, room;
};

/* The list of a thread, created if it is new; NULL: no memory.  Valid until the next one. */
struct time_list *thread_lists_enter(struct thread_lists *l, uint64_t key);

/* NULL: none. */
const struct time_list *thread_lists_find(const struct thread_lists *l, uint64_t key);

/* Insert a copy of @element by its time: 0 or -ENOMEM.  Elements are expected nearly in order. */
int time_list_insert(struct time_list *t, size_t size, const void *element);

static inline void *time_list_at(const struct time_list *t, size_t size, size_t i)
{
	return t->elements + i * size;
}

/* Index of the first element that ends after @ts. */
size_t time_list_first(const struct time_list *t, size_t size, uint64_t ts);

/* The part of @span between the two times. */
uint64_t time_span_overlap(const struct time_span *span, uint64_t from_ts, uint64_t to_ts);

void thread_lists_release(struct thread_lists *l);

#endif

/* SPDX-License-Identifier: MIT */
/* thread_lists.c - what is known of each thread, as lists of times in order. */
#include "analyze/thread_lists.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct time_list *thread_lists_enter(struct thread_lists *l, uint64_t key)
{
	uint64_t *number = u64map_at(&l->numbers, key);

	if (!number)
		return NULL;
	if (!*number) {
		if (l->nr == l->room) {
			size_t room = l->room ? l->room * 2 : 16;
			struct time_list *threads = reallocarray(l->threads, room,
								 sizeof(*threads));

			if (!threads)
				return NULL;
			l->threads = threads;
			l->room = room;
		}
		l->threads[l->nr++] = (struct time_list){ 0 };
		*number = l->nr;
	}
	return &l->threads[*number - 1];
}

const struct time_list *thread_lists_find(const struct thread_lists *l, uint64_t key)
{
	uint64_t number;

	return u64map_get(&l->numbers, key, &number) && number ? &l->threads[number - 1] : NULL;
}

static const struct time_span *time_list_span(const struct time_list *t, size_t size, size_t i)
{
	return time_list_at(t, size, i);
}

int time_list_insert(struct time_list *t, size_t size, const void *element)
{
	uint64_t from_ts = ((const struct time_span *)element)->from_ts;
	size_t at = t->nr;

	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		char *elements = reallocarray(t->elements, room, size);

		if (!elements)
			return -ENOMEM;
		t->elements = elements;
		t->room = room;
	}
	while (at && time_list_span(t, size, at - 1)->from_ts > from_ts)
		at--;
	memmove(time_list_at(t, size, at + 1), time_list_at(t, size, at), (t->nr - at) * size);
	memcpy(time_list_at(t, size, at), element, size);
	t->nr++;
	return 0;
}

size_t time_list_first(const struct time_list *t, size_t size, uint64_t ts)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (time_list_span(t, size, middle)->to_ts <= ts)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

uint64_t time_span_overlap(const struct time_span *span, uint64_t from_ts, uint64_t to_ts)
{
	uint64_t from = span->from_ts > from_ts ? span->from_ts : from_ts;
	uint64_t to = span->to_ts < to_ts ? span->to_ts : to_ts;

	return to > from ? to - from : 0;
}

void thread_lists_release(struct thread_lists *l)
{
	size_t i;

	for (i = 0; i < l->nr; i++)
		free(l->threads[i].elements);
	free(l->threads);
	u64map_release(&l->numbers);
	*l = (struct thread_lists){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* timers.c - a binary heap in an array: the children of i are 2i + 1 and 2i + 2. */
#include "timers.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

int timers_reserve(struct timers *t, size_t nr)
{
	size_t room = t->room ? t->room : 16;
	struct timer *heap;

	if (nr <= t->room)
		return 0;
	while (room < nr)
		room *= 2;
	heap = reallocarray(t->heap, room, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	t->heap = heap;
	t->room = room;
	return 0;
}

void timers_release(struct timers *t)
{
	free(t->heap);
	t->heap = NULL;
	t->nr = t->room = 0;
}

void timers_add(struct timers *t, uint64_t when_ns, struct coro *co)
{
	size_t i = t->nr++;

	assert(t->nr <= t->room);
	while (i > 0 && t->heap[(i - 1) / 2].when_ns > when_ns) {
		t->heap[i] = t->heap[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	t->heap[i] = (struct timer){ when_ns, co };
}

/* The top was removed: move @last, the former end of the heap, down from the top to its place. */
static void sink(struct timers *t, struct timer last)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < t->nr) {
		if (child + 1 < t->nr && t->heap[child + 1].when_ns < t->heap[child].when_ns)
			child++;
		if (t->heap[child].when_ns >= last.when_ns)
			break;
		t->heap[i] = t->heap[child];
		i = child;
	}
	t->heap[i] = last;
}

struct coro *timers_take_due(struct timers *t, uint64_t now_ns)
{
	struct coro *co;

	if (!t->nr || t->heap[0].when_ns > now_ns)
		return NULL;
	co = t->heap[0].co;
	t->nr--;
	sink(t, t->heap[t->nr]);
	return co;
}

bool timers_next(const struct timers *t, uint64_t *when_ns)
{
	if (!t->nr)
		return false;
	*when_ns = t->heap[0].when_ns;
	return true;
}

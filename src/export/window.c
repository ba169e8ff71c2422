/* SPDX-License-Identifier: MIT */
/* window.c - sort the events of a trace by time within a window. */
#include "export/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The reader owns the name and reuses it before the event is passed on. */
static int window_keep_name(struct trace_event *ev)
{
	char *copy;

	if (!ev->name || !ev->name_size) {
		ev->name = NULL;
		ev->name_size = 0;
		return 0;
	}
	copy = malloc(ev->name_size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, ev->name, ev->name_size);
	ev->name = copy;
	return 0;
}

static void drop_name(struct trace_event *ev)
{
	free((char *)ev->name);
	ev->name = NULL;
}

/* ---- events out of order ---------------------------------------------------- */

static bool window_is_earlier(const struct window_late *a, const struct window_late *b)
{
	return a->event.ts != b->event.ts ? a->event.ts < b->event.ts : a->number < b->number;
}

static void window_swap(struct window_late *a, struct window_late *b)
{
	struct window_late c = *a;

	*a = *b;
	*b = c;
}

static int heap_room(struct window *w)
{
	uint32_t room = w->heap_room ? w->heap_room * 2 : 64;
	struct window_late *heap;

	if (w->nr_heap < w->heap_room)
		return 0;
	heap = reallocarray(w->heap, room, sizeof(*heap));
	if (!heap)
		return -ENOMEM;
	w->heap = heap;
	w->heap_room = room;
	return 0;
}

static void heap_put(struct window *w, const struct trace_event *ev)
{
	uint32_t at = w->nr_heap++;

	w->heap[at] = (struct window_late){ *ev, w->coming++ };
	while (at && window_is_earlier(&w->heap[at], &w->heap[(at - 1) / 2])) {
		window_swap(&w->heap[at], &w->heap[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void heap_take(struct window *w, struct trace_event *ev)
{
	uint32_t at = 0, child;

	*ev = w->heap[0].event;
	w->heap[0] = w->heap[--w->nr_heap];
	while ((child = 2 * at + 1) < w->nr_heap) {
		if (child + 1 < w->nr_heap &&
		    window_is_earlier(&w->heap[child + 1], &w->heap[child]))
			child++;
		if (!window_is_earlier(&w->heap[child], &w->heap[at]))
			return;
		window_swap(&w->heap[child], &w->heap[at]);
		at = child;
	}
}

/* ---- all ----------------------------------------------------------------- */

static uint32_t window_place(const struct window *w, uint32_t nr)
{
	return (w->head + nr) & (WINDOW_EVENTS - 1);
}

static bool heap_is_next(const struct window *w)
{
	const struct trace_event *first = &w->queue[w->head];

	if (!w->nr_heap || !w->nr)
		return w->nr_heap;
	if (w->heap[0].event.ts != first->ts)
		return w->heap[0].event.ts < first->ts;
	return w->heap[0].number < w->numbers[w->head];
}

static int give_first(struct window *w, window_give *give, void *arg)
{
	struct trace_event ev;
	int rc;

	if (heap_is_next(w)) {
		heap_take(w, &ev);
	} else {
		ev = w->queue[w->head];
		w->head = window_place(w, 1);
		w->nr--;
	}
	w->gone_ts = ev.ts;
	rc = give(arg, &ev);
	drop_name(&ev);
	return rc;
}

static int make_queue(struct window *w)
{
	if (!w->queue)
		w->queue = calloc(WINDOW_EVENTS, sizeof(*w->queue));
	if (!w->numbers)
		w->numbers = calloc(WINDOW_EVENTS, sizeof(*w->numbers));
	return w->queue && w->numbers ? 0 : -ENOMEM;
}

int window_add(struct window *w, const struct trace_event *ev, window_give *give, void *arg)
{
	struct trace_event mine = *ev;
	int rc = make_queue(w);

	if (rc < 0)
		return rc;
	if (ev->ts < w->gone_ts) {
		w->late++;
		return 0;
	}
	if (heap_room(w) < 0 || window_keep_name(&mine) < 0)
		return -ENOMEM;
	/* The queue always has room: fewer than WINDOW_EVENTS events are held. */
	if (w->nr && ev->ts < w->queue[window_place(w, w->nr - 1)].ts) {
		heap_put(w, &mine);
	} else {
		w->queue[window_place(w, w->nr)] = mine;
		w->numbers[window_place(w, w->nr++)] = w->coming++;
	}
	return w->nr + w->nr_heap < WINDOW_EVENTS ? 0 : give_first(w, give, arg);
}

static uint64_t first_ts(const struct window *w)
{
	return heap_is_next(w) ? w->heap[0].event.ts : w->queue[w->head].ts;
}

int window_until(struct window *w, uint64_t ts, window_give *give, void *arg)
{
	int rc = 0;

	while (rc >= 0 && w->nr + w->nr_heap && first_ts(w) < ts)
		rc = give_first(w, give, arg);
	return rc;
}

int window_finish(struct window *w, window_give *give, void *arg)
{
	int rc = 0;

	while (rc >= 0 && w->nr + w->nr_heap)
		rc = give_first(w, give, arg);
	return rc;
}

void window_release(struct window *w)
{
	uint32_t i;

	for (i = 0; i < w->nr; i++)
		drop_name(&w->queue[window_place(w, i)]);
	for (i = 0; i < w->nr_heap; i++)
		drop_name(&w->heap[i].event);
	free(w->queue);
	free(w->numbers);
	free(w->heap);
	*w = (struct window){ 0 };
}

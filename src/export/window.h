/* SPDX-License-Identifier: MIT */
/*
 * window.h - sort the events of a trace by time within a window.
 *
 * The lines of a trace are in the order in which the collector read them: station after
 * station, eight events of each.  WINDOW_EVENTS events are held back, and the earliest is
 * passed on when another one arrives.  An event that is earlier than one that was passed on is
 * late: it is only counted.
 *
 * In a sorted trace no event is compared twice: events in order go to a queue, and only the
 * others go to a heap.
 */
#ifndef EXPORT_WINDOW_H
#define EXPORT_WINDOW_H

#include "trace/event.h"

#define WINDOW_EVENTS 65536u /* a power of two */

struct window_late {
	struct trace_event event;
	uint64_t number; /* order of arrival: at equal times the first is passed on first */
};

/* All zero is empty. */
struct window {
	struct trace_event *queue; /* a ring of WINDOW_EVENTS, the earliest at head */
	uint64_t *numbers;         /* order of arrival */
	uint32_t head, nr;
	struct window_late *heap;
	uint32_t nr_heap, heap_room;
	uint64_t coming;
	uint64_t gone_ts; /* of the last event that was passed on */
	uint64_t late;    /* events that were not passed on */
};

typedef int window_give(void *arg, const struct trace_event *ev);

/* May pass on an earlier event; returns 0, -ENOMEM, or the value of @give. */
int window_add(struct window *w, const struct trace_event *ev, window_give *give, void *arg);

/* Passes on the events from before @ts. */
int window_until(struct window *w, uint64_t ts, window_give *give, void *arg);

/* Passes on all events. */
int window_finish(struct window *w, window_give *give, void *arg);

void window_release(struct window *w);

#endif

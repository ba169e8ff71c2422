/* SPDX-License-Identifier: MIT */
/*
 * window.h - put the events of a trace in order of time, as far as they are not.
 *
 * Lines of a trace stand as their collector found them: station after station, eight
 * events of each.  So many events are held back here, and the earliest goes on when
 * another comes.  An event that is earlier than one that has gone on already is late:
 * it is not given any more, only counted.
 *
 * In a trace that is in order nothing is compared twice: who comes in time stands in a
 * queue, and only the others go to the heap beside it.
 */
#ifndef EXPORT_WINDOW_H
#define EXPORT_WINDOW_H

#include "trace/event.h"

#define WINDOW_EVENTS 65536u /* a power of two */

struct window_late {
	struct trace_event event;
	uint64_t number; /* of its coming: of one time the first goes first */
};

/* All zero is empty. */
struct window {
	struct trace_event *queue; /* a ring of WINDOW_EVENTS, the earliest at head */
	uint64_t *numbers;         /* of their coming */
	uint32_t head, nr;
	struct window_late *heap;
	uint32_t nr_heap, heap_room;
	uint64_t coming;
	uint64_t gone_ts; /* of the latest that went on */
	uint64_t late;    /* that were not given */
};

typedef int window_give(void *arg, const struct trace_event *ev);

/* May give one that is earlier; 0, -ENOMEM, or what @give returned. */
int window_add(struct window *w, const struct trace_event *ev, window_give *give, void *arg);

/* Those from before @ts. */
int window_until(struct window *w, uint64_t ts, window_give *give, void *arg);

/* All that are still held. */
int window_finish(struct window *w, window_give *give, void *arg);

void window_release(struct window *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * top_events.h - a picture as events in the order of time, for the detectors of `report`.
 *
 * A picture has the state of every coroutine, and perhaps the newest events of each thread.  A
 * state that these events do not contain becomes the events that lead to it.  Coroutines whose
 * state cannot be part of a finding are left out: most of a hundred thousand wait as usual.
 */
#ifndef TOP_TOP_EVENTS_H
#define TOP_TOP_EVENTS_H

#include "top/top_rows.h"

/* All zero: empty. */
struct top_events {
	struct trace_event *at; /* their names are owned by the picture */
	size_t nr, room;
};

/* 0 or -ENOMEM. */
int top_events_make(struct top_events *e, const struct top_picture *p);
void top_events_release(struct top_events *e);

#endif

/* SPDX-License-Identifier: MIT */
/* model_waits.h - what the model keeps about waits: rhythms, wakers, activity, ends. */
#ifndef ANALYZE_MODEL_WAITS_H
#define ANALYZE_MODEL_WAITS_H

#include "analyze/model.h"

/* A wait of @co at its place ended after @ns. */
void waits_ended(struct coro *co, uint64_t ns);

/* @co is woken by @waker; NULL: unknown, or outside of all coroutines. */
void waits_woken(struct coro *co, const struct coro *waker, const struct trace_event *ev);

/* A coroutine begins or stops to run at @ts. */
void waits_run_begins(struct model *m, uint64_t ts);
void waits_run_ends(struct model *m, uint64_t ts);

/*
 * The wait of @co, which is suspended, ends at @ts: it is cancelled, or it goes on after a long
 * time.  Keeps a copy, in case that the program ends now.  0 or -ENOMEM.
 */
int waits_cancelled(struct model *m, const struct coro *co, uint64_t ts);

/* @co is about to be removed. */
void waits_depart(struct model *m, const struct coro *co, uint64_t ts);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * coro_table.h - the live coroutines of a trace, and the states that they pass through.
 *
 *   new -> running <-> suspended -> ended -> destroyed
 *
 * Report, summary, timelines and tables of an export keep different data about a coroutine.  The
 * entry of each begins with struct coro_state; the table finds entries by id and station, and
 * coro_step_of() says what an event means for the state, so that all of them agree.
 *
 * Memory grows with the coroutines that are alive at one time.
 */
#ifndef TRACE_CORO_TABLE_H
#define TRACE_CORO_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/coro_ids.h"
#include "trace/item.h"

struct coro_state {
	uint64_t probe_id;
	uint64_t since_ts; /* begin of the state */
	uint32_t station;
	uint8_t state; /* enum trace_state */
	bool in_use;
	bool is_born; /* its birth event was read */
};

/* What an event means for the state of its coroutine. */
enum coro_step {
	CORO_STEP_EXPECTED,
	CORO_STEP_RESUMED_TWICE,   /* resumed while it was running */
	CORO_STEP_SUSPENDED_TWICE, /* suspended while it was suspended */
	CORO_STEP_LATE,            /* older than the begin of the state: the newest event wins */
	CORO_STEP_AFTER_END,       /* a transition after the end */
	CORO_STEP_BORN_AGAIN, /* another coroutine with this id; the destroy event is missing */
};

enum coro_step coro_step_of(const struct coro_state *s, const struct trace_event *ev);

/* False for an event that must not change the state: one that is late or came after the end. */
static inline bool coro_step_counts(enum coro_step step)
{
	return step != CORO_STEP_LATE && step != CORO_STEP_AFTER_END;
}

/* Set the state after @ev, which counts. */
void coro_step_apply(struct coro_state *s, const struct trace_event *ev);

/* True if the coroutine does not exist after @ev: its entry can be removed. */
static inline bool coro_event_destroys(const struct trace_event *ev)
{
	return ev->kind == TRACE_DESTROY || (ev->kind == TRACE_END && ev->flags & TRACE_DESTROYED);
}

/* All zero, with the size of an entry, is empty. */
struct coro_table {
	size_t entry_size;
	struct coro_ids ids;
	char *entries;
	size_t room; /* entries, in use or free */
};

/*
 * The entry of the coroutine.  A new one is all zero behind its coro_state.  NULL: no memory.
 * Entries move when the table grows: no pointer to one stays valid across this call.
 */
void *coro_table_enter(struct coro_table *t, uint64_t probe_id, uint32_t station);

/* NULL: there is none. */
void *coro_table_find(const struct coro_table *t, uint64_t probe_id, uint32_t station);

/* The entry in slot @i, below room; NULL: the slot is free. */
void *coro_table_at(const struct coro_table *t, size_t i);

/* The slot of an entry. */
size_t coro_table_slot(const struct coro_table *t, const void *entry);

/* Free the slot of an entry; what the entry points to is the caller's. */
void coro_table_remove(struct coro_table *t, void *entry);

void coro_table_release(struct coro_table *t);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * state_profile.h - where the coroutines of a trace spend their time.
 *
 * A stack is the coroutine's ancestors, each by the site that it was created at (or the kind of its
 * name), the coroutine itself, the site of its await, and its state:
 *
 *	new        from the creation to the first resume
 *	running    from a resume to the next suspend or end
 *	waiting    from a suspend to the wake, or to the resume if no wake was reported
 *	ready      from the wake to the resume
 *
 * A coroutine that is in a state at the end of the trace was in it until then.  Where events were
 * lost, so that the state is not known, there is no time.
 *
 * The filter selects states: by time (a state is cut where the range begins and ends), by
 *coroutine, by site (waits at such an await), and by the kind of event that the state begins with.
 */
#ifndef EXPORT_STATE_PROFILE_H
#define EXPORT_STATE_PROFILE_H

#include "export/time_tree.h"
#include "export/window.h"
#include "trace/coro_table.h"
#include "trace/item.h"
#include "trace/trace_filter.h"

/* The states of the levels of the tree. */
enum profiled_state {
	PROFILED_NONE,
	PROFILED_NEW,
	PROFILED_RUNNING,
	PROFILED_READY,
	PROFILED_WAITING,
	NR_PROFILED_STATES,
};

/* "running"; NULL for PROFILED_NONE. */
const char *profiled_state_name(unsigned state);

struct state_profile {
	struct time_tree tree;
	struct trace_filter filter;
	struct window window;
	struct coro_table coros; /* entries: struct profiled_coro */
	struct u64map sites;     /* id to 1 + place */
	uint64_t first_ts, last_ts, end_ts;
	uint64_t start_realtime, start_ts; /* of the run; 0: not known */
	char *program;                     /* of the run; NULL: not known */
	uint64_t unknown;                  /* states that no event ended, where events are lost */
	uint64_t impossible;               /* events with an invalid time */
};

void state_profile_init(struct state_profile *p, const struct trace_filter *filter);

/* Returns 0 or -ENOMEM.  The items come in the order of trace/trace_reader.h, without a filter. */
int state_profile_add(struct state_profile *p, const struct trace_item *item);

/* After the last item. */
int state_profile_finish(struct state_profile *p);

void state_profile_release(struct state_profile *p);

#endif

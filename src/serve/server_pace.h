/* SPDX-License-Identifier: MIT */
/*
 * server_pace.h - how far a reader is behind a growing trace, and what it leaves out to keep up.
 *
 * A reader that is too slow would show a moment that is ever longer ago.  If it is more than two
 * seconds behind, it hurries: transitions and wakes are counted and not analyzed, until it is less
 * than half a second behind.  Births, ends and facts are analyzed in any case, so that names,
 * kinds and the number of coroutines stay right.
 */
#ifndef SERVE_SERVER_PACE_H
#define SERVE_SERVER_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/item.h"

/* All zero at the begin. */
struct feed_pace {
	uint64_t last_ts; /* of the last event that was read */
	bool hurries;
	struct trace_gap gap;                 /* what was left out since it hurries */
	uint64_t transitions, wakes, left_ns; /* all that was left out, without the gap */
};

/* False: leave out the item. */
bool pace_takes(struct feed_pace *p, const struct trace_item *item);

/*
 * Decide how to go on at @now_ns (CLOCK_MONOTONIC); @has_more: the trace has more to read now.
 */
void pace_set(struct feed_pace *p, uint64_t now_ns, bool has_more);

/* True if something was left out since the last call: @gap describes it. */
bool pace_take_gap(struct feed_pace *p, struct trace_gap *gap);

#endif

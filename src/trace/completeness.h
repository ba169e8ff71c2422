/* SPDX-License-Identifier: MIT */
/*
 * completeness.h - is everything that was recorded in what was read?
 *
 * A collector ends a trace with totals: how many events it wrote.  The reader (reader.h) counts
 * what it gives and compares the two, so that every command that reads a trace has the same
 * verdict and the same words for it.
 *
 * The verdict is final when trace_next() has returned 0.
 */
#ifndef TRACE_COMPLETENESS_H
#define TRACE_COMPLETENESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_writer.h"
#include "trace/ctf.h"
#include "trace/item.h"

struct trace_stats;

enum trace_verdict {
	TRACE_COMPLETE,   /* what the totals say was read, and nothing is damaged */
	TRACE_UNKNOWN,    /* a trace of another tool, or without its sidecar: it has no totals */
	TRACE_GROWING,    /* it is followed, and is still being written */
	TRACE_UNFINISHED, /* the run is described and has no totals: see trace_shortage() */
	TRACE_INCOMPLETE, /* events or parts of the trace are missing */
};

/* Kept by the reader. */
struct trace_completeness {
	bool has_run, has_totals;
	/* Transitions, and all other events: as the totals have them, and as they were read. */
	uint64_t expected, expected_others;
	uint64_t read, read_others;
	/* Files of the trace that are there and cannot be read; the first of them, and why. */
	uint64_t unreadable;
	char unreadable_name[CTF_NAME_SIZE];
	int unreadable_errno;
};

/* The reader gives @item. */
static inline void trace_completeness_count(struct trace_completeness *c,
					    const struct trace_item *item)
{
	if (item->type == TRACE_ITEM_EVENT) {
		if (trace_is_transition(&item->event))
			c->read++;
		else
			c->read_others++;
	} else if (item->type == TRACE_ITEM_TOTALS) {
		c->has_totals = true;
		c->expected = item->totals.collected;
		c->expected_others = item->totals.others_collected;
	} else if (item->type == TRACE_ITEM_RUN) {
		c->has_run = true;
	}
}

enum trace_verdict trace_verdict(const struct trace_stats *stats);

/* The trace holds as many events as its totals say; true if it has none. */
bool trace_totals_agree(const struct trace_stats *stats);

/* "incomplete" */
const char *trace_verdict_name(enum trace_verdict verdict);

/* Events that the totals tell of and that were not read, of all kinds. */
uint64_t trace_missing_events(const struct trace_stats *stats);

/*
 * What is missing, a clause without a full stop: "19,900 of 20,000 transitions are missing".
 * NULL for a verdict that has nothing to say of it: complete, unknown, growing.  Returns @buf.
 */
const char *trace_shortage(const struct trace_stats *stats, char *buf, size_t size);

/* Long enough for every shortage. */
#define TRACE_SHORTAGE_SIZE 512

/* "completeness": { ... } into an object that is open in @j. */
void trace_put_completeness(struct json_writer *j, const struct trace_stats *stats);

#endif

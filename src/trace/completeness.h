/* SPDX-License-Identifier: MIT */
/*
 * completeness.h - does the trace hold everything that was recorded?
 *
 * The collector ends a trace with totals: the number of events it wrote.  The reader (reader.h)
 * counts the events it returns and compares both numbers, so every command that reads a trace
 * prints the same verdict in the same words.
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
	TRACE_COMPLETE,   /* as many events were read as the totals say, and nothing is damaged */
	TRACE_UNKNOWN,    /* no totals: a trace of another tool, or its sidecar is missing */
	TRACE_GROWING,    /* the trace is followed while it is being written */
	TRACE_UNFINISHED, /* the trace describes its run and has no totals: see trace_shortage() */
	TRACE_INCOMPLETE, /* events or parts of the trace are missing */
};

/* Maintained by the reader. */
struct trace_completeness {
	bool has_run, has_totals;
	/*
	 * Transitions and other events: the counts of the totals, and the counts of what was
	 * read.
	 */
	uint64_t expected, expected_others;
	uint64_t read, read_others;
	/* Files of the trace that exist and cannot be read; name and errno of the first one. */
	uint64_t unreadable;
	char unreadable_name[CTF_NAME_SIZE];
	int unreadable_errno;
};

/* Called by the reader for each @item that it returns. */
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

/* True if the trace holds as many events as its totals say, or has no totals. */
bool trace_totals_agree(const struct trace_stats *stats);

/* Returns a name such as "incomplete". */
const char *trace_verdict_name(enum trace_verdict verdict);

/* Number of events of all kinds that the totals count and that were not read. */
uint64_t trace_missing_events(const struct trace_stats *stats);

/*
 * Writes what is missing into @buf, as a clause without a full stop: "19,900 of 20,000
 * transitions are missing".  Returns @buf, or NULL if the verdict is complete, unknown or
 * growing.
 */
const char *trace_shortage(const struct trace_stats *stats, char *buf, size_t size);

/* Large enough for every text of trace_shortage(). */
#define TRACE_SHORTAGE_SIZE 512

/* Writes "completeness": { ... } into an object that is open in @j. */
void trace_put_completeness(struct json_writer *j, const struct trace_stats *stats);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * trace_parts.h - the parts of a merged trace: which item belongs to which part.
 *
 * Programs that were traced apart are judged apart: what one of them does says nothing about the
 * others.
 */
#ifndef TRACE_TRACE_PARTS_H
#define TRACE_TRACE_PARTS_H

#include "base/err.h"
#include "base/u64map.h"
#include "trace/item.h"

/* All zero: a trace that is not merged, so far. */
struct trace_parts {
	struct trace_part *list; /* with copies of the texts */
	size_t nr, room;
	struct u64map pids; /* to the number of a part */
};

/* Called with every item; keeps parts and processes.  0 or -ENOMEM. */
int trace_parts_note(struct trace_parts *p, const struct trace_item *item);

/* Reads the parts of a file and their processes, which come before its events.  0 or a negative
 * errno. */
int trace_parts_read(struct trace_parts *p, const char *path, struct err *err);

/* NULL: there is no such part. */
const struct trace_part *trace_parts_find(const struct trace_parts *p, uint64_t number);

/* Number of the part that @item belongs to; 0: it belongs to all of them. */
uint64_t trace_parts_of(const struct trace_parts *p, const struct trace_item *item);

/*
 * Makes the run and the totals those of @part.  False: @item belongs to another part, or the part
 * has no such item.
 */
bool trace_parts_take(const struct trace_parts *p, const struct trace_part *part,
		      struct trace_item *item);

void trace_parts_release(struct trace_parts *p);

#endif

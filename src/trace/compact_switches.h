/* SPDX-License-Identifier: MIT */
/*
 * compact_switches.h - times without a processor, as columns of a compact block.
 *
 * `run --cpu` records tens of thousands of them per second.  A line of JSON for each one cost the
 * collector more than everything else about them.  Losses and other rare facts of the same type
 * stay lines.
 */
#ifndef TRACE_COMPACT_SWITCHES_H
#define TRACE_COMPACT_SWITCHES_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/u64map.h"
#include "trace/compact.h"
#include "trace/compact_block.h"
#include "trace/item.h"

/* ---- write --------------------------------------------------------------- */

/* All zero: empty. */
struct compact_switches {
	uint8_t *planes; /* COMPACT_SWITCH_PLANES of COMPACT_ITEMS_MAX bytes */
	uint32_t items;
	uint64_t last_ts;        /* to_ts of the item before */
	uint64_t min_ts, max_ts; /* of all items */
	struct u64map threads;   /* pid << 32 | tid to 1 + index */
	uint32_t nr_threads;
	struct bytes long_times, thread_list;
};

/* False: it has to be written as a line. */
bool compact_switches_add(struct compact_switches *s, const struct trace_switch *item);

/* The columns so far; valid until the next call.  Returns their number, or -ENOMEM. */
int compact_switches_columns(const struct compact_switches *s,
			     struct compact_source columns[NR_COMPACT_SWITCH_COLUMNS]);

void compact_switches_clear(struct compact_switches *s);
void compact_switches_release(struct compact_switches *s);

/* ---- read ---------------------------------------------------------------- */

struct compact_switch_thread {
	uint64_t pid, tid;
};

/* All zero: no block. */
struct compact_switch_decoder {
	const uint8_t *planes[NR_COMPACT_SWITCH_COLUMNS]; /* NULL: all bytes are 0 */
	const uint8_t *long_at, *long_end, *thread_at, *thread_end;
	uint32_t items, at;
	uint64_t last_ts;
	struct compact_switch_thread *threads;
	uint32_t nr_threads, room;
};

/* False: the block is damaged.  @parts must stay as they are while it is read. */
bool compact_switch_decoder_begin(struct compact_switch_decoder *d,
				  const struct compact_block_head *head,
				  const struct compact_part *parts);

/* 1: *@out is set; 0: there are no more; -EPROTO: the block is damaged; -ENOMEM. */
int compact_switch_decode(struct compact_switch_decoder *d, struct trace_switch *out);

void compact_switch_decoder_release(struct compact_switch_decoder *d);

#endif

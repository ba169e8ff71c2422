/* SPDX-License-Identifier: MIT */
/*
 * compact_encode.h - events as the columns of a compact block.
 *
 * An event costs a table lookup for its coroutine, six bytes stored, and the comparison of its
 * members with the predicted ones.
 */
#ifndef TRACE_COMPACT_ENCODE_H
#define TRACE_COMPACT_ENCODE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "trace/compact_model.h"

#define COMPACT_TABLE        ((size_t)COMPACT_ITEMS_MAX * 2)
#define COMPACT_THREAD_TABLE ((size_t)COMPACT_THREADS_MAX * 2)

/* Coroutines whose index goes to one of the two parts of COMPACT_INDEX_LOW and _HIGH. */
struct compact_indexes {
	uint32_t nr;
	uint8_t low[COMPACT_ITEMS_MAX], high[COMPACT_ITEMS_MAX];
};

struct compact_encoder {
	uint32_t items, transitions, others;
	uint64_t min_ts, max_ts;
	uint32_t kinds;
	uint32_t thread; /* of the last item */
	size_t limit;    /* bytes of names and gaps, beyond which the block counts as full */
	uint8_t shape[COMPACT_ITEMS_MAX];
	uint8_t thread_high[COMPACT_ITEMS_MAX];
	uint8_t delta[3][COMPACT_ITEMS_MAX];
	uint8_t miss[COMPACT_ITEMS_MAX];
	struct compact_indexes wakes, rest;
	struct bytes columns[NR_COMPACT_COLUMNS]; /* those that are not arrays above */
	/* Open addressing: the round in the upper half, the index in the lower. */
	uint64_t table[COMPACT_TABLE];
	uint64_t thread_table[COMPACT_THREAD_TABLE];
	uint64_t seed;
	uint64_t round; /* entries of earlier blocks do not count */
	struct compact_model model;
};

/* NULL: no memory. */
struct compact_encoder *compact_encoder_new(void);
void compact_encoder_free(struct compact_encoder *e); /* accepts NULL */

/* True if the block accepts no further item, also if there is no memory for one. */
static inline bool compact_encoder_is_full(struct compact_encoder *e)
{
	return e->items == COMPACT_ITEMS_MAX || e->model.nr_threads == COMPACT_THREADS_MAX ||
	       !compact_model_make_room(&e->model) ||
	       e->columns[COMPACT_NAMES].size + e->columns[COMPACT_GAPS].size > e->limit;
}

/* The block is not full, and the kind is below NR_TRACE_KINDS. */
void compact_encode_event(struct compact_encoder *e, const struct trace_event *ev);

/* A gap, as a line of JSON with its newline, at the time @ts. */
void compact_encode_gap(struct compact_encoder *e, uint64_t ts, const char *line, size_t size);

/* The bytes of a column, valid until the next item; false: no memory for an earlier item. */
bool compact_encoder_column(struct compact_encoder *e, unsigned id, const uint8_t **data,
			    size_t *size);

/* Begin the next block. */
void compact_encoder_reset(struct compact_encoder *e);

#endif

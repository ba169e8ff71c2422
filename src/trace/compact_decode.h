/* SPDX-License-Identifier: MIT */
/*
 * compact_decode.h - the events and gaps of a compact block, from its columns.
 *
 * The columns are not trusted: their checksums are right, and still they may have been forged.
 */
#ifndef TRACE_COMPACT_DECODE_H
#define TRACE_COMPACT_DECODE_H

#include <stdbool.h>

#include "trace/compact_block.h"
#include "trace/compact_model.h"

struct compact_cursor {
	const uint8_t *at, *end;
};

struct compact_decoder {
	uint32_t items, at; /* of the block, and the next one */
	const uint8_t *shape, *thread_high, *delta[3], *miss;
	const uint8_t *wake_low, *wake_high, *wake_end; /* the next wake's index, their end */
	const uint8_t *rest_low, *rest_high, *rest_end;
	struct compact_cursor cursors[NR_COMPACT_COLUMNS];
	bool no_memory;
	bool is_light;  /* set by the caller: only kind, time and thread of an event are wanted */
	uint8_t *zeros; /* for columns that were left out */
	struct compact_model model;
};

/* NULL: no memory. */
struct compact_decoder *compact_decoder_new(void);
void compact_decoder_free(struct compact_decoder *d); /* accepts NULL */

/* False: the columns do not fit together. */
bool compact_decoder_begin(struct compact_decoder *d, const struct compact_block_head *head,
			   const struct compact_part *parts);

enum compact_decoded {
	COMPACT_DECODED_END,
	COMPACT_DECODED_EVENT,
	COMPACT_DECODED_GAP,
	COMPACT_DECODED_UNKNOWN, /* an event of a kind of a later version */
	COMPACT_DECODED_DAMAGED, /* nothing of the block follows */
	COMPACT_DECODED_NO_MEMORY,
};

/*
 * The next item: an event, whose name is part of a column; or a gap, as a line of JSON without its
 * newline.
 */
enum compact_decoded compact_decode_next(struct compact_decoder *d, struct trace_event *ev,
					 const char **gap, size_t *gap_size);

#endif

/* SPDX-License-Identifier: MIT */
/* loader_rows.h - from the items of one block to rows of a batch, and the account of a run. */
#ifndef FLEET_LOADER_ROWS_H
#define FLEET_LOADER_ROWS_H

#include "fleet/load_batch.h"
#include "fleet/loader_run.h"

struct loader_rows {
	struct load_batch *batch;
	struct loader_run *run;
	struct wait_pairs *pairs;
	uint64_t number;
	uint32_t label, sample, part;
	uint64_t transitions, others, waits; /* of this block */
	size_t chunk;                        /* rows of this part */
	int64_t first_ts;
	int rc;          /* of the first row that could not be added */
	struct err *err; /* its message, where parts are sent */
	uint64_t all_waits;
};

/* Begins the rows of a block.  0 or -ENOMEM. */
int loader_rows_begin(struct loader_rows *r, struct load_batch *batch, struct loader_run *run,
		      const struct ship_labels *labels, uint64_t number);

/* 0 or -ENOMEM. */
int loader_rows_item(struct loader_rows *r, const struct trace_item *item);

/*
 * Blocks in front of this one are missing: what ended the open waits may be in them.  The rows of
 * the block must be alone in the batch if there are many, which is sent in parts.
 */
int loader_rows_lose(struct loader_rows *r, struct err *err);

/* The run has ended, and with it the open waits.  In parts, too. */
int loader_rows_finish(struct loader_rows *r, const struct ship_labels *labels, struct err *err);

/* All items of the block were added. */
int loader_rows_end(struct loader_rows *r, bool is_block);

/* Add the row of table `runs`. */
int loader_rows_put_account(struct load_batch *b, const struct loader_run *run);

#endif

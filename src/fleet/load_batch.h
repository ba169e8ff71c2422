/* SPDX-License-Identifier: MIT */
/*
 * load_batch.h - rows of several blocks on their way into the store, each counted exactly once.
 *
 * A unit is what one block of a run adds.  Units are collected; load_batch_send() makes one INSERT
 * per table, shard and partition of them, which the server applies whole or not at all.
 *
 * Exactly once
 *   For every unit and INSERT the batch remembers one row by its key.  Where it is not certain
 *   whether an INSERT was applied (after a lost connection, a time limit, or a restart), the server
 *   is asked for that row first, after queries of this loader that still run have ended, and
 *   after those that have not arrived yet can not be applied any more (load_session.h).  A batch
 *   whose unit is in doubt has no other unit: an earlier process may have grouped them in another
 *   way.
 */
#ifndef FLEET_LOAD_BATCH_H
#define FLEET_LOAD_BATCH_H

#include "fleet/clickhouse_client.h"
#include "fleet/fleet_rows.h"
#include "fleet/load_session.h"
#include "fleet/wait_sums.h"

#define LOAD_MARK_SIZE   72u
#define LOAD_INSERTS_MAX 4096u   /* partitions of waits and events in one batch */
#define LOAD_ROWS_MAX    262144u /* a batch with more rows is sent */

struct load_claim {
	uint32_t unit;
	uint32_t row;
};

struct load_insert {
	enum fleet_table table;
	size_t shard;
	int64_t partition;
	bool in_use, is_done;
	struct native_block block;
	struct load_claim *claims;
	uint32_t nr_claims, room_claims;
};

struct load_unit {
	uint64_t block;
	uint32_t label;
	uint32_t part;
	uint32_t sample;
	size_t shard;
	bool in_doubt;
	bool was_found;       /* set by the send: an INSERT had been applied before */
	bool was_sent;        /* the same: an INSERT was applied */
	struct bytes periods; /* of its sums: int64 begin of the first 10 s in each partition */
};

struct load_batch {
	struct clickhouse *client;
	char name[33];               /* of the loader: prefix of its query ids */
	struct load_session session; /* on servers without deduplication tokens */
	unsigned retry_s;            /* how long a call that may pass later is repeated */
	bool with_events;
	/* Called before the first repetition of a call; may be NULL. */
	void (*waiting)(void *ctx, const struct err *err);
	void *waiting_ctx;
	struct load_insert **inserts;
	size_t nr_inserts;
	size_t nr_limited;                 /* in use, of waits and events */
	struct load_insert *last;          /* the one that got a wait last */
	const struct ship_labels **labels; /* entry 0: all empty, for marks */
	size_t nr_labels, room_labels;
	struct load_unit *units;
	uint32_t nr_units, room_units;
	struct wait_sums sums;
	size_t nr_rows;
	bool is_summed;   /* the sums are in their inserts */
	uint64_t dropped; /* rows of more partitions than LOAD_INSERTS_MAX */
	/* For the user. */
	uint64_t sent_rows, sent_inserts, found_inserts, repeated;
};

int load_batch_init(struct load_batch *b, struct clickhouse *client, const char *name);

/* The number of the labels in this batch, which stay where they are; 0: no memory. */
uint32_t load_batch_label(struct load_batch *b, const struct ship_labels *labels);

/* Begins a unit.  0 or -ENOMEM. */
int load_batch_unit(struct load_batch *b, uint32_t label, size_t shard, uint64_t block,
		    uint32_t part, uint32_t sample, bool in_doubt);

/* Rows of the last unit.  0 or -ENOMEM. */
int load_batch_wait(struct load_batch *b, const struct fleet_wait *w);
int load_batch_event(struct load_batch *b, const struct trace_event *ev, int64_t ts, uint64_t site);

/* The block of a table whose rows may be inserted again, in which a row replaces an equal one. */
struct native_block *load_batch_rows(struct load_batch *b, enum fleet_table table, size_t shard);

/*
 * Inserts everything.  After a failure it can be called again, and goes on with what is missing.
 */
int load_batch_send(struct load_batch *b, struct err *err);

/* ---- between load_batch.c and load_send.c ------------------------------------ */

/* "RUN/BLOCK", or "RUN/BLOCK.PART". */
void load_unit_mark(const struct load_batch *b, const struct load_unit *u,
		    char mark[LOAD_MARK_SIZE]);

/* Makes rows of the sums, and a mark for every unit that they have.  0 or -ENOMEM. */
int load_batch_sum_up(struct load_batch *b);

/* Empty, after it was sent. */
void load_batch_clear(struct load_batch *b);
void load_batch_release(struct load_batch *b);

#endif

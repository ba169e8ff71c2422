/* SPDX-License-Identifier: MIT */
/*
 * loader.h - put blocks of traces into the store, each exactly once.
 *
 *	struct loader *l = loader_open(&options, &err);
 *
 *	loader_block(l, &labels, number, block, size, 0, &err);    as often as there are blocks
 *	loader_flush(l, &err);        now everything before it is in the store
 *	loader_close(l);
 *
 * Blocks of a run come in the order of their numbers; those of different runs may alternate.  A
 * block that the loader has seen is dropped; a number that is passed over is counted as missing.
 * With a state directory, a loader that was killed goes on where it was: loader_flush() saves the
 * state after the rows, and what comes after the saved state is compared with the store first.
 *
 * Errors of a store that is away pass: call loader_flush() again later; nothing is forgotten.
 */
#ifndef FLEET_LOADER_H
#define FLEET_LOADER_H

#include "fleet/clickhouse_client.h"
#include "fleet/fleet_schema.h"
#include "ship/ship_labels.h"
#include "trace/item.h"

struct loader_options {
	const char *url;
	const char *state_dir; /* NULL: nothing is saved */
	const char *name; /* 32 hexadecimal digits, equal after a restart; NULL: from the state */
	bool with_events;
	unsigned retry_s; /* how long a store that is away is waited for, per call */
	struct fleet_keep keep;
	bool has_keep; /* set the times of the tables to @keep; otherwise they stay as they are */
	bool expires;  /* on servers without TTL: drop what is older than @keep */
	bool is_host;  /* this is the host of the runs: compare its clock with the store's */
	void (*waiting)(void *ctx, const struct err *err); /* the store is away; may be NULL */
	void *waiting_ctx;
};

struct loader_totals {
	uint64_t runs, complete_runs;
	uint64_t blocks, duplicates, missing, damaged;
	uint64_t transitions, others, waits;
	uint64_t inserts, found; /* INSERTs, and those that an earlier process had made */
	uint64_t rows, bytes, repeated, dropped;
};

struct loader;

/* Connects, creates the schema, locks the state directory.  NULL with a message in @err. */
struct loader *loader_open(const struct loader_options *o, struct err *err);

/*
 * One block of a compact trace, or with size 0 the account of the run in @labels.  @arrived: wall
 * clock, ns, of a broker when it got the block; 0: not known.  A damaged block is counted, and is
 * not an error.
 */
int loader_block(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 const void *block, size_t size, int64_t arrived, struct err *err);

/* Items of a trace in another format: those of one block, between begin and end. */
int loader_begin(struct loader *l, const struct ship_labels *labels, uint64_t number,
		 struct err *err);
int loader_item(struct loader *l, const struct trace_item *item, struct err *err);
int loader_end(struct loader *l, struct err *err);

/* Inserts what was collected, and saves the state. */
int loader_flush(struct loader *l, struct err *err);

/* True if it is time for loader_flush(): enough rows, or the first is a second old. */
bool loader_is_due(const struct loader *l);

/*
 * The number of the next block of a run that is needed, and of the next one with whole coroutines
 * (ship_whole.h); both 0: the run is not known.
 */
struct loader_next {
	uint64_t block, whole;
};

struct loader_next loader_next(struct loader *l, const struct ship_labels *labels, struct err *err);

struct loader_totals loader_totals_of(const struct loader *l);
enum clickhouse_fault loader_fault(const struct loader *l);

/* Without a flush.  Accepts NULL. */
void loader_close(struct loader *l);

#endif

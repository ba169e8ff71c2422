/* SPDX-License-Identifier: MIT */
/*
 * loader_run.h - what the loader knows about one run: its sites, open waits, counts; saved to go
 * on.
 */
#ifndef FLEET_LOADER_RUN_H
#define FLEET_LOADER_RUN_H

#include "base/u64map.h"
#include "ship/ship_labels.h"
#include "trace/wait_pairs.h"

struct loader_counts {
	uint64_t blocks, missing, damaged;
	uint64_t transitions, others, waits;
	uint64_t whole, whole_others; /* of coroutines that are sent whole, beside the others */
};

struct loader_run {
	struct ship_labels labels; /* of its first block; with the account, once it has arrived */
	size_t shard;
	uint64_t next; /* number of the block after the last one */
	uint64_t
		next_whole; /* the same of blocks with whole coroutines, from SHIP_WHOLE_FIRST on */
	bool is_complete;
	bool is_in_doubt; /* its next block may be in the store */
	bool has_changed; /* since it was saved */
	bool is_in_batch; /* has rows in the current batch */
	struct loader_counts counts;
	int64_t last_ts;      /* wall clock of the last event */
	int64_t clock_offset; /* of the host's clock, ns; 0: less than a second, or not known */
	struct u64map sites;  /* number in the trace to hash */
	struct wait_pairs pairs;
	/* Of blocks with all events of some coroutines, in a run of which one in N is sent. */
	struct wait_pairs whole;
};

/* NULL: no memory. */
struct loader_run *loader_run_new(const struct ship_labels *labels);
void loader_run_free(struct loader_run *r); /* accepts NULL */

/* Wall clock of a time of the trace. */
static inline int64_t loader_run_time(const struct loader_run *r, uint64_t ts)
{
	return (int64_t)(r->labels.start_realtime + (ts - r->labels.start_ts));
}

static inline uint64_t loader_run_site(const struct loader_run *r, uint32_t id)
{
	uint64_t hash = 0;

	if (id)
		u64map_get(&r->sites, id, &hash);
	return hash;
}

/* Write DIR/RUN.state, whole or not at all. */
int loader_run_save(const struct loader_run *r, const char *dir, struct err *err);

/*
 * Read DIR/RUN.state.  1; 0: there is none; or a negative errno: -EPROTO if it is damaged.
 */
int loader_run_load(struct loader_run *r, const char *dir, struct err *err);

#endif

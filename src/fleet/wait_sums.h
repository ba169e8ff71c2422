/* SPDX-License-Identifier: MIT */
/* wait_sums.h - sum up waits by run, site, reason and 10 s, with log2 histograms. */
#ifndef FLEET_WAIT_SUMS_H
#define FLEET_WAIT_SUMS_H

#include "fleet/fleet_rows.h"

#define WAIT_SUM_BUCKETS 65u /* 0 ns, then one per bit */

struct wait_sum {
	int64_t ts; /* begin of the 10 s */
	uint64_t site;
	uint32_t label;
	uint8_t reason;
	bool in_use;
	uint64_t count, states[NR_WAIT_STATES], readied;
	uint64_t wait_ns, ready_ns, max_wait, max_ready;
	uint64_t waits[WAIT_SUM_BUCKETS], readies[WAIT_SUM_BUCKETS];
};

/* All zero is empty. */
struct wait_sums {
	struct wait_sum *slots;
	size_t size, nr; /* slots, a power of two, and those in use */
	struct wait_sum *last;
};

/* The wait counts @sample times.  0 or -ENOMEM. */
int wait_sums_add(struct wait_sums *s, unsigned label, uint32_t sample, const struct fleet_wait *w);

/* Add a row for @sum to a block of FLEET_SUMS.  0 or -ENOMEM. */
int wait_sums_put_row(struct native_block *b, const struct wait_sum *sum);

/* Add a row that counts nothing and says that @mark is in the sums. */
int wait_sums_put_mark(struct native_block *b, int64_t ts, const char *mark);

static inline int64_t wait_sums_ts(int64_t ts)
{
	return ts - ts % FLEET_SUM_NS;
}

void wait_sums_clear(struct wait_sums *s);
void wait_sums_release(struct wait_sums *s);

#endif

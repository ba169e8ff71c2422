/* SPDX-License-Identifier: MIT */
/* wait_sums.c - sum up waits by run, site, reason and 10 s, with log2 histograms. */
#include "fleet/wait_sums.h"

#include <errno.h>
#include <stdlib.h>

#define WAIT_SUMS_ROOM 256

static size_t wait_sums_hash(int64_t ts, uint64_t site, uint32_t label, uint8_t reason)
{
	uint64_t hash = (site ^ (uint64_t)ts ^ (uint64_t)label << 40 ^ (uint64_t)reason << 56) *
			UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash ^ hash >> 32);
}

static bool wait_sum_is(const struct wait_sum *sum, int64_t ts, uint64_t site, uint32_t label,
			uint8_t reason)
{
	return sum->ts == ts && sum->site == site && sum->label == label && sum->reason == reason;
}

/* The slot of the key, free or in use. */
static struct wait_sum *wait_sums_slot(const struct wait_sums *s, int64_t ts, uint64_t site,
				       uint32_t label, uint8_t reason)
{
	size_t at = wait_sums_hash(ts, site, label, reason);

	for (;; at++) {
		struct wait_sum *sum = &s->slots[at & (s->size - 1)];

		if (!sum->in_use || wait_sum_is(sum, ts, site, label, reason))
			return sum;
	}
}

static bool wait_sums_grow(struct wait_sums *s)
{
	struct wait_sums more = { .size = s->size ? s->size * 2 : WAIT_SUMS_ROOM, .nr = s->nr };
	size_t i;

	more.slots = calloc(more.size, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (i = 0; i < s->size; i++) {
		const struct wait_sum *sum = &s->slots[i];

		if (sum->in_use)
			*wait_sums_slot(&more, sum->ts, sum->site, sum->label, sum->reason) = *sum;
	}
	free(s->slots);
	*s = more;
	return true;
}

static struct wait_sum *wait_sums_find(struct wait_sums *s, int64_t ts, uint64_t site,
				       uint32_t label, uint8_t reason)
{
	struct wait_sum *sum = s->last;

	if (sum && wait_sum_is(sum, ts, site, label, reason))
		return sum;
	if (s->nr * 2 >= s->size && !wait_sums_grow(s))
		return NULL;
	sum = wait_sums_slot(s, ts, site, label, reason);
	if (!sum->in_use) {
		*sum = (struct wait_sum){
			.ts = ts, .site = site, .label = label, .reason = reason, .in_use = true
		};
		s->nr++;
	}
	s->last = sum;
	return sum;
}

/* 0 for 0 ns, else b with 2^(b-1) <= ns < 2^b. */
static unsigned wait_sums_bucket(uint64_t ns)
{
	return ns ? 64 - (unsigned)__builtin_clzll(ns) : 0;
}

int wait_sums_add(struct wait_sums *s, unsigned label, uint32_t sample, const struct fleet_wait *w)
{
	uint8_t reason = w->pair->reason < NR_TRACE_REASONS ? w->pair->reason : 0;
	struct wait_sum *sum = wait_sums_find(s, wait_sums_ts(w->ts), w->site, label, reason);

	if (!sum)
		return -ENOMEM;
	sum->count += sample;
	sum->states[w->pair->state] += sample;
	if (w->is_ended) {
		sum->wait_ns += w->wait_ns * sample;
		sum->waits[wait_sums_bucket(w->wait_ns)] += sample;
		sum->max_wait = w->wait_ns > sum->max_wait ? w->wait_ns : sum->max_wait;
	}
	if (w->is_readied) {
		sum->readied += sample;
		sum->ready_ns += w->ready_ns * sample;
		sum->readies[wait_sums_bucket(w->ready_ns)] += sample;
		sum->max_ready = w->ready_ns > sum->max_ready ? w->ready_ns : sum->max_ready;
	}
	return 0;
}

/* ---- rows ---------------------------------------------------------------------- */

/* The state of max(): whether there is a value, and the value. */
static void wait_sums_put_max(struct native_block *b, unsigned column, uint64_t value, bool has)
{
	bytes_add(&b->texts[column], has ? "\1" : "\0", 1);
	if (has)
		bytes_add(&b->texts[column], &value, sizeof(value));
}

/* An array of buckets, and one of their counts, in the column after it. */
static void wait_sums_put_map(struct native_block *b, unsigned column, const uint64_t *counts)
{
	uint8_t bucket;

	for (bucket = 0; bucket < WAIT_SUM_BUCKETS; bucket++) {
		if (!counts[bucket])
			continue;
		bytes_add(&b->texts[column], &bucket, 1);
		bytes_add(&b->texts[column + 1], &counts[bucket], sizeof(counts[bucket]));
	}
	native_array_end(b, column, 1);
	native_array_end(b, column + 1, sizeof(counts[0]));
}

int wait_sums_put_row(struct native_block *b, const struct wait_sum *sum)
{
	unsigned i;
	int rc = native_block_add(b, sum->label);

	if (rc < 0)
		return rc;
	native_put_u64(b, SUM_COLUMN_SITE, sum->site);
	native_put_u8(b, SUM_COLUMN_REASON, sum->reason);
	native_put_u64(b, SUM_COLUMN_TS, (uint64_t)sum->ts);
	native_put_text(b, SUM_COLUMN_MARK, "", 0);
	native_put_u64(b, SUM_COLUMN_MARKS, 0);
	native_put_u64(b, SUM_COLUMN_COUNT, sum->count);
	for (i = 0; i < NR_WAIT_STATES; i++)
		native_put_u64(b, SUM_COLUMN_STATES + i, sum->states[i]);
	native_put_u64(b, SUM_COLUMN_READIED, sum->readied);
	native_put_u64(b, SUM_COLUMN_WAIT_NS, sum->wait_ns);
	native_put_u64(b, SUM_COLUMN_READY_NS, sum->ready_ns);
	wait_sums_put_max(b, SUM_COLUMN_MAX_WAIT, sum->max_wait,
			  sum->states[WAIT_RESUMED] || sum->states[WAIT_CLOSED]);
	wait_sums_put_max(b, SUM_COLUMN_MAX_READY, sum->max_ready, sum->readied);
	wait_sums_put_map(b, SUM_COLUMN_WAIT_BUCKETS, sum->waits);
	wait_sums_put_map(b, SUM_COLUMN_READY_BUCKETS, sum->readies);
	return 0;
}

int wait_sums_put_mark(struct native_block *b, int64_t ts, const char *mark)
{
	static const uint64_t none[WAIT_SUM_BUCKETS];
	unsigned i;
	int rc = native_block_add(b, 0);

	if (rc < 0)
		return rc;
	native_put_u64(b, SUM_COLUMN_SITE, 0);
	native_put_u8(b, SUM_COLUMN_REASON, 0);
	native_put_u64(b, SUM_COLUMN_TS, (uint64_t)ts);
	native_put_text(b, SUM_COLUMN_MARK, mark, strlen(mark));
	native_put_u64(b, SUM_COLUMN_MARKS, 1);
	for (i = SUM_COLUMN_COUNT; i <= SUM_COLUMN_READY_NS; i++)
		native_put_u64(b, i, 0);
	wait_sums_put_max(b, SUM_COLUMN_MAX_WAIT, 0, false);
	wait_sums_put_max(b, SUM_COLUMN_MAX_READY, 0, false);
	wait_sums_put_map(b, SUM_COLUMN_WAIT_BUCKETS, none);
	wait_sums_put_map(b, SUM_COLUMN_READY_BUCKETS, none);
	return 0;
}

void wait_sums_clear(struct wait_sums *s)
{
	if (s->size)
		memset(s->slots, 0, s->size * sizeof(*s->slots));
	s->nr = 0;
	s->last = NULL;
}

void wait_sums_release(struct wait_sums *s)
{
	free(s->slots);
	*s = (struct wait_sums){ .slots = NULL };
}

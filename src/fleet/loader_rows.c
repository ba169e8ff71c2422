/* SPDX-License-Identifier: MIT */
/* loader_rows.c - from the items of one block to rows of a batch, and the account of a run. */
#include "fleet/loader_rows.h"

#include <errno.h>
#include <time.h>

#include "base/monotonic.h"
#include "ship/ship_whole.h"
#include "trace/site_hash.h"

int loader_rows_begin(struct loader_rows *r, struct load_batch *batch, struct loader_run *run,
		      const struct ship_labels *labels, uint64_t number)
{
	r->batch = batch;
	r->run = run;
	r->number = number;
	r->sample = labels->sample && labels->sample <= UINT32_MAX ? (uint32_t)labels->sample : 1;
	r->pairs = number < SHIP_WHOLE_FIRST ? &run->pairs : &run->whole;
	r->part = 0;
	r->transitions = r->others = r->waits = 0;
	r->chunk = 0;
	r->first_ts = 0;
	r->rc = 0;
	r->err = NULL;
	r->label = load_batch_label(batch, &run->labels);
	if (!r->label)
		return -ENOMEM;
	return load_batch_unit(batch, r->label, run->shard, number, 0, r->sample, run->is_in_doubt);
}

/* ---- waits ----------------------------------------------------------------------------- */

static void loader_rows_wait(void *ctx, const struct wait_pair *pair)
{
	struct loader_rows *r = ctx;
	struct fleet_wait w;

	if (r->rc < 0)
		return;
	fleet_wait_set(&w, pair, loader_run_time(r->run, pair->ts),
		       loader_run_site(r->run, pair->site),
		       loader_run_site(r->run, pair->wake_site));
	r->rc = load_batch_wait(r->batch, &w);
	r->waits++;
	r->chunk++;
}

/* Sends the rows so far, and begins the next part of the block: each part is exactly this large. */
static int loader_rows_next_part(struct loader_rows *r)
{
	int rc = load_batch_send(r->batch, r->err);

	if (rc < 0)
		return rc;
	load_batch_clear(r->batch);
	r->chunk = 0;
	r->label = load_batch_label(r->batch, &r->run->labels);
	if (!r->label)
		return -ENOMEM;
	return load_batch_unit(r->batch, r->label, r->run->shard, r->number, ++r->part, r->sample,
			       r->run->is_in_doubt);
}

static void loader_rows_wait_in_parts(void *ctx, const struct wait_pair *pair)
{
	struct loader_rows *r = ctx;

	if (r->rc == 0 && r->chunk == LOAD_ROWS_MAX)
		r->rc = loader_rows_next_part(r);
	loader_rows_wait(ctx, pair);
}

static int loader_rows_finish_pairs(struct loader_rows *r, struct wait_pairs *pairs,
				    struct err *err)
{
	int rc;

	r->err = err;
	rc = wait_pairs_finish(pairs, loader_rows_wait_in_parts, r);
	return rc < 0 ? rc : r->rc;
}

/* Coroutines that are sent whole stand for themselves: a unit of its own, with another sample. */
static int loader_rows_finish_whole(struct loader_rows *r, struct err *err)
{
	int rc;

	r->sample = 1;
	r->chunk = 0;
	rc = load_batch_unit(r->batch, r->label, r->run->shard, r->number, ++r->part, r->sample,
			     r->run->is_in_doubt);
	return rc < 0 ? rc : loader_rows_finish_pairs(r, &r->run->whole, err);
}

int loader_rows_lose(struct loader_rows *r, struct err *err)
{
	struct trace_gap all = { .to_ts = UINT64_MAX, .transitions = 1 };
	int rc;

	wait_pairs_gap(r->pairs, &all);
	rc = loader_rows_finish_pairs(r, r->pairs, err);
	r->pairs->gap_ts = 0;
	return rc;
}

int loader_rows_finish(struct loader_rows *r, const struct ship_labels *labels, struct err *err)
{
	int rc = loader_rows_finish_pairs(r, &r->run->pairs, err);

	if (rc == 0 && r->run->whole.nr_open)
		rc = loader_rows_finish_whole(r, err);
	r->run->labels.has_final = true;
	r->run->labels.final = labels->final;
	r->run->is_complete = rc == 0;
	return rc;
}

/* ---- items ------------------------------------------------------------------------------- */

static int loader_rows_site(struct loader_rows *r, const struct trace_site *site)
{
	uint64_t hash = site_hash(site->file, site->line, site->function), known = 0;
	struct native_block *b;
	struct site_names names;

	if (u64map_get(&r->run->sites, site->id, &known) && known == hash)
		return 0;
	b = load_batch_rows(r->batch, FLEET_SITES, r->run->shard);
	if (u64map_put(&r->run->sites, site->id, hash) < 0 || !b || native_block_add(b, 0) < 0)
		return -ENOMEM;
	site_names_of(&names, site->file, site->function);
	native_put_u64(b, SITE_COLUMN_SITE, hash);
	native_put_text(b, SITE_COLUMN_FILE, names.file, strlen(names.file));
	native_put_u32(b, SITE_COLUMN_LINE, site->line);
	native_put_text(b, SITE_COLUMN_FUNCTION, names.function, strlen(names.function));
	return 0;
}

static int loader_rows_event(struct loader_rows *r, const struct trace_event *ev)
{
	int64_t ts = loader_run_time(r->run, ev->ts);
	int rc = 0;

	if (trace_is_transition(ev))
		r->transitions++;
	else
		r->others++;
	if (!r->first_ts)
		r->first_ts = ts;
	if (ts > r->run->last_ts)
		r->run->last_ts = ts;
	if (r->batch->with_events)
		rc = load_batch_event(r->batch, ev, ts, loader_run_site(r->run, ev->site));
	if (rc == 0)
		rc = wait_pairs_event(r->pairs, ev, loader_rows_wait, r);
	return rc < 0 ? rc : r->rc;
}

/* The clock of a sender that did not say when the run began. */
static void loader_rows_start(struct loader_run *run, const struct sidecar_run *start)
{
	if (run->labels.start_realtime)
		return;
	run->labels.start_ts = start->start_ts;
	run->labels.start_realtime = start->start_realtime;
}

int loader_rows_item(struct loader_rows *r, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return loader_rows_event(r, &item->event);
	case TRACE_ITEM_SITE:
		return loader_rows_site(r, &item->site);
	case TRACE_ITEM_GAP:
		wait_pairs_gap(r->pairs, &item->gap);
		return 0;
	case TRACE_ITEM_RUN:
		loader_rows_start(r->run, &item->run);
		return 0;
	default:
		return 0;
	}
}

/* ---- accounts ------------------------------------------------------------------------------ */

/* Of a block without events that of the last one, or the start of the run: 0 would look expired. */
static int64_t loader_rows_block_ts(const struct loader_rows *r)
{
	if (r->first_ts)
		return r->first_ts;
	return r->run->last_ts ? r->run->last_ts : (int64_t)r->run->labels.start_realtime;
}

int loader_rows_end(struct loader_rows *r, bool is_block)
{
	struct native_block *b = load_batch_rows(r->batch, FLEET_BLOCKS, r->run->shard);
	struct loader_counts *counts = &r->run->counts;

	if (!b || native_block_add(b, r->label) < 0)
		return -ENOMEM;
	native_put_u64(b, BLOCK_COLUMN_BLOCK, r->number);
	native_put_u64(b, BLOCK_COLUMN_TS, (uint64_t)loader_rows_block_ts(r));
	native_put_u32(b, BLOCK_COLUMN_TRANSITIONS, (uint32_t)r->transitions);
	native_put_u32(b, BLOCK_COLUMN_OTHERS, (uint32_t)r->others);
	native_put_u32(b, BLOCK_COLUMN_WAITS, (uint32_t)r->waits);
	native_put_u32(b, BLOCK_COLUMN_LOADED, (uint32_t)time(NULL));
	counts->blocks += is_block;
	counts->waits += r->waits;
	r->all_waits += r->waits;
	if (r->number < SHIP_WHOLE_FIRST) {
		counts->transitions += r->transitions;
		counts->others += r->others;
		r->run->next = r->number + 1;
	} else {
		counts->whole += r->transitions;
		counts->whole_others += r->others;
		r->run->next_whole = r->number + 1;
	}
	r->run->has_changed = true;
	return 0;
}

static void loader_rows_put_labels(struct native_block *b, const struct ship_labels *labels)
{
	const char *const texts[] = { labels->run,     labels->service, labels->build,
				      labels->version, labels->host,    labels->region };
	unsigned i;

	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		native_put_text(b, i, texts[i], strlen(texts[i]));
}

int loader_rows_put_account(struct load_batch *batch, const struct loader_run *run)
{
	const struct ship_labels *labels = &run->labels;
	const struct ship_final *f = &labels->final;
	const struct loader_counts *c = &run->counts;
	/* In the order of the columns from start_ts on. */
	const uint64_t numbers[] = {
		labels->start_realtime,
		(uint64_t)run->last_ts,
		c->blocks,
		f->blocks,
		c->missing,
		c->damaged,
		c->transitions,
		c->others,
		c->waits,
		f->written,
		f->collected,
		f->lost,
		f->given_up_transitions,
		f->given_up_others,
		f->left_out_transitions,
		f->left_out_others,
		c->whole,
		c->whole_others,
		(uint64_t)run->clock_offset,
		monotonic_clock_ns(CLOCK_REALTIME),
	};
	struct native_block *b = load_batch_rows(batch, FLEET_RUNS, run->shard);
	unsigned i;

	if (!b || native_block_add(b, 0) < 0)
		return -ENOMEM;
	loader_rows_put_labels(b, labels);
	native_put_u32(b, 6, labels->sample ? (uint32_t)labels->sample : 1);
	native_put_u8(b, 7, run->is_complete);
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		native_put_u64(b, 8 + i, numbers[i]);
	return 0;
}

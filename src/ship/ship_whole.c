/* SPDX-License-Identifier: MIT */
/* ship_whole.c - coroutines with findings, which are sent whole although others are sampled. */
#include "ship/ship_whole.h"

#include <errno.h>
#include <string.h>

void ship_whole_release(struct ship_whole *w)
{
	unsigned i;

	for (i = 0; i < SHIP_WHOLE_BLOCKS; i++)
		bytes_release(&w->blocks[i].data);
	u64map_release(&w->from);
	memset(w, 0, sizeof(*w));
}

int ship_whole_add(struct ship_whole *w, uint64_t probe_id)
{
	uint64_t from;

	if (ship_sample_has(probe_id, w->rate) || u64map_get(&w->from, probe_id, &from))
		return 0;
	if (w->nr_coroutines == SHIP_WHOLE_COROUTINES) {
		w->refused++;
		return 0;
	}
	w->nr_coroutines++;
	w->first = 0;
	return u64map_put(&w->from, probe_id, 0) < 0 ? -ENOMEM : 0;
}

struct ship_whole_look {
	const struct ship_whole *whole;
	uint64_t number; /* of the block that is searched */
};

static bool ship_whole_wants(const void *ctx, uint64_t probe_id)
{
	const struct ship_whole_look *look = ctx;
	uint64_t from;

	return u64map_get(&look->whole->from, probe_id, &from) && look->number >= from;
}

/* All blocks before @number were searched for all coroutines. */
static int ship_whole_advance(struct ship_whole *w, uint64_t number)
{
	uint64_t ids[SHIP_WHOLE_COROUTINES], id, from;
	size_t pos = 0;
	uint32_t i, nr = 0;

	while (nr < SHIP_WHOLE_COROUTINES && u64map_next(&w->from, &pos, &id, &from))
		ids[nr++] = id;
	for (i = 0; i < nr; i++) {
		if (u64map_put(&w->from, ids[i], number) < 0)
			return -ENOMEM;
	}
	w->first = number;
	return 0;
}

static int ship_whole_keep(struct ship_whole *w, const struct ship_block *block)
{
	struct ship_whole_block *b = &w->blocks[w->nr_blocks];

	bytes_clear(&b->data);
	if (!bytes_put(&b->data, block->data, block->size))
		return -ENOMEM;
	b->number = block->head.number;
	b->transitions = block->head.transitions;
	b->others = block->head.others;
	b->is_sent = false;
	w->nr_blocks++;
	w->made++;
	return 0;
}

static int ship_whole_search(struct ship_whole *w, struct ship_sampler *sampler,
			     struct ship_follow *f, struct ship_block *block)
{
	struct ship_whole_look look = { w, block->head.number };
	int rc;

	if (block->head.type != COMPACT_EVENTS || block->head.number < w->first)
		return 0;
	rc = ship_sampler_filter(sampler, f->fd, block, SHIP_WHOLE_FIRST + w->made, false,
				 ship_whole_wants, &look);
	if (rc <= 0 || !block->head.items)
		return rc < 0 ? rc : 0;
	return ship_whole_keep(w, block);
}

int ship_whole_collect(struct ship_whole *w, struct ship_sampler *sampler, const char *path,
		       const struct ship_place *begin, uint64_t end)
{
	struct ship_follow f;
	struct ship_block block;
	struct err err = { 0 };
	uint64_t searched = 0;

	if (!w->nr_coroutines || w->first >= end || w->nr_blocks == SHIP_WHOLE_BLOCKS)
		return 0;
	if (ship_follow_open(&f, path, false, &err) < 0)
		return err.code;
	ship_follow_seek(&f, begin);
	/* Damaged places are holes: these blocks were given back. */
	while (w->nr_blocks < SHIP_WHOLE_BLOCKS && ship_follow_head(&f, &block, &err) > 0 &&
	       block.head.number < end) {
		searched = block.head.number + 1;
		if (ship_whole_search(w, sampler, &f, &block) < 0)
			break;
	}
	ship_follow_close(&f);
	if (w->nr_blocks < SHIP_WHOLE_BLOCKS)
		searched = end;
	return ship_whole_advance(w, searched);
}

struct ship_whole_block *ship_whole_next(struct ship_whole *w)
{
	struct ship_whole_block *next = NULL;
	unsigned i;

	/* In the order of their numbers, as all blocks. */
	for (i = 0; i < w->nr_blocks; i++) {
		struct ship_whole_block *b = &w->blocks[i];

		if (!b->is_sent && (!next || b->number < next->number))
			next = b;
	}
	return next;
}

void ship_whole_arrived(struct ship_whole *w, uint64_t number)
{
	struct ship_whole_block done;
	unsigned i;

	for (i = 0; i < w->nr_blocks && w->blocks[i].number != number; i++)
		;
	if (i == w->nr_blocks)
		return;
	done = w->blocks[i];
	w->arrived++;
	w->transitions += done.transitions;
	w->others += done.others;
	/* The last takes its place, and gets its memory. */
	w->blocks[i] = w->blocks[--w->nr_blocks];
	w->blocks[w->nr_blocks] = done;
}

void ship_whole_resend(struct ship_whole *w)
{
	unsigned i;

	for (i = 0; i < w->nr_blocks; i++)
		w->blocks[i].is_sent = false;
}

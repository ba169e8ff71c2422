/* SPDX-License-Identifier: MIT */
/* slice_budget.c - select the slices to keep if not all fit. */
#include "view/slice_budget.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	bool found_whole; /* keep all slices of coroutines with a finding */
	bool faults_only; /* count only findings that are faults */
	unsigned last;    /* last slices of every coroutine */
	const char *words;
} levels[THIN_LEVELS] = {
	{ true, false, 8, "all of coroutines with findings, the last 8 of each other" },
	{ true, true, 4, "all of coroutines with faults, the last 4 of each other" },
	{ false, false, 2, "the last 2 of each coroutine" },
	{ false, false, 1, "the last of each coroutine" },
	{ false, false, 0, NULL },
};

const char *thin_rule(unsigned level)
{
	return levels[level].words;
}

static uint32_t thin_faults(void)
{
	uint32_t bits = 0;
	size_t i;

	for (i = 0; detectors[i] && i < 32; i++)
		bits |= (uint32_t)detectors[i]->is_fault << i;
	return bits;
}

/* Number of last slices of the coroutine to keep. */
static uint64_t thin_last_of(const struct view_record *rec, unsigned level, uint32_t fault_bits)
{
	uint32_t found = rec->findings | rec->findings_now;

	if (levels[level].found_whole &&
	    found & (levels[level].faults_only ? fault_bits : UINT32_MAX))
		return rec->nr_slices;
	return rec->nr_slices < levels[level].last ? rec->nr_slices : levels[level].last;
}

uint64_t thin_count(const struct view *v, unsigned level)
{
	uint32_t fault_bits = thin_faults();
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < v->records.nr; i++)
		nr += thin_last_of(&v->records.all[i], level, fault_bits);
	return nr;
}

static void mark_block(struct view *v, unsigned level, size_t block, const struct slice *slices,
		       uint32_t *seen, uint8_t *keep)
{
	uint32_t fault_bits = thin_faults();
	size_t i;

	for (i = 0; i < v->spool.blocks[block].nr; i++) {
		const struct view_record *rec = records_find(&v->records, slices[i].coro);
		uint64_t number = (uint64_t)block * SPOOL_BLOCK + i;
		uint32_t *nr;

		if (!rec)
			continue;
		nr = &seen[rec - v->records.all];
		if (*nr + thin_last_of(rec, level, fault_bits) >= rec->nr_slices)
			keep[number / 8] |= (uint8_t)(1u << number % 8);
		*nr += 1;
	}
}

uint8_t *thin_mark(struct view *v, unsigned level, struct err *err)
{
	uint32_t *seen = calloc(v->records.nr + 1, sizeof(*seen));
	uint8_t *keep = calloc(v->spool.nr / 8 + 1, 1);
	bool failed = !seen || !keep;
	size_t block;

	if (failed)
		err_set(err, -ENOMEM, "no memory to choose slices");
	for (block = 0; !failed && block < v->spool.nr_blocks; block++) {
		struct slice *slices = spool_read(&v->spool, block, err);

		failed = !slices;
		if (slices)
			mark_block(v, level, block, slices, seen, keep);
		free(slices);
	}
	free(seen);
	if (failed) {
		free(keep);
		return NULL;
	}
	return keep;
}

/* ---- blocks ----------------------------------------------------------------- */

struct order {
	size_t *blocks, nr;
	bool *is_in;
};

static void thin_put(struct order *o, size_t block)
{
	if (o->is_in[block])
		return;
	o->is_in[block] = true;
	o->blocks[o->nr++] = block;
}

static void put_findings(struct order *o, const struct view *v)
{
	const struct findings *f = &v->analysis->findings;
	size_t i, block;

	for (i = 0; i < f->nr; i++) {
		uint64_t ts = f->groups[i].finding.ts;

		for (block = 0; block < v->spool.nr_blocks; block++) {
			if (v->spool.blocks[block].from <= ts && ts <= v->spool.blocks[block].last)
				thin_put(o, block);
		}
	}
}

/* Halves, quarters, eighths, ... of the run: any prefix of the order is spread over the run. */
static void put_spread(struct order *o, size_t nr)
{
	size_t step, at;

	for (step = 1; step < nr; step *= 2)
		;
	for (; step; step /= 2) {
		for (at = 0; at < nr; at += step)
			thin_put(o, at);
	}
}

size_t *thin_order(const struct view *v)
{
	size_t nr = v->spool.nr_blocks;
	struct order o = { .blocks = calloc(nr + 1, sizeof(*o.blocks)),
			   .is_in = calloc(nr + 1, sizeof(*o.is_in)) };

	if (o.blocks && o.is_in && nr) {
		thin_put(&o, nr - 1);
		put_findings(&o, v);
		thin_put(&o, 0);
		put_spread(&o, nr);
	}
	if (!o.is_in) {
		free(o.blocks);
		o.blocks = NULL;
	}
	free(o.is_in);
	return o.blocks;
}

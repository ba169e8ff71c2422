/* SPDX-License-Identifier: MIT */
/*
 * coherence.c - MESI between the cores, with a directory of the cores that hold a line.
 *
 * The directory has a bit per core for each line that a cache on the core's path holds, up to
 * the first level that all cores share.  The slots encode the states: dirty is M; neither dirty
 * nor shared is E; shared is S.  (A line that all other holders have lost stays S until its core
 * asks again: by a write, or by a miss of the first level.)
 *
 * If some cores share a cache that other cores do not use, a write takes the line from all
 * caches that are not on the writer's path, and from no other cache.
 */
#include <errno.h>
#include <stdlib.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

struct directory {
	struct u64map by_line; /* line to 1 + index of its words */
	uint64_t *words;
	uint32_t nr_words; /* per line */
	uint64_t nr, size; /* lines: highest number in use at a time; capacity */
	uint64_t spare;    /* free list: 1 + index, linked by the first word */
};

static uint64_t *coherence_holders(const struct directory *d, uint64_t line)
{
	uint64_t index;

	if (!u64map_get(&d->by_line, line, &index))
		return NULL;
	return d->words + (index - 1) * d->nr_words;
}

static bool coherence_grow(struct directory *d)
{
	uint64_t more = d->size ? d->size * 2 : 1024;
	uint64_t *words = realloc(d->words, more * d->nr_words * sizeof(*words));

	if (!words)
		return false;
	d->words = words;
	d->size = more;
	return true;
}

static uint64_t *coherence_enter(struct directory *d, uint64_t line)
{
	uint64_t *place = u64map_at(&d->by_line, line);
	uint64_t *words;

	if (!place)
		return NULL;
	if (*place)
		return d->words + (*place - 1) * d->nr_words;
	if (d->spare) {
		*place = d->spare;
		words = d->words + (*place - 1) * d->nr_words;
		d->spare = words[0];
	} else {
		if (d->nr == d->size && !coherence_grow(d))
			return NULL;
		*place = ++d->nr;
		words = d->words + (*place - 1) * d->nr_words;
	}
	memset(words, 0, d->nr_words * sizeof(*words));
	return words;
}

static void leave_if_empty(struct directory *d, uint64_t line, uint64_t *words)
{
	uint64_t index;
	uint32_t i;

	for (i = 0; i < d->nr_words; i++) {
		if (words[i])
			return;
	}
	if (!u64map_get(&d->by_line, line, &index))
		return;
	words[0] = d->spare;
	d->spare = index;
	u64map_remove(&d->by_line, line);
}

int coherence_has(struct sim *s, const struct core *core, uint64_t line)
{
	uint64_t *words = coherence_enter(s->directory, line);

	if (!words)
		return -ENOMEM;
	words[core->number / 64] |= UINT64_C(1) << core->number % 64;
	return 0;
}

int coherence_start(struct sim *s)
{
	uint32_t i, k;

	s->directory = calloc(1, sizeof(*s->directory));
	if (!s->directory)
		return -ENOMEM;
	s->directory->nr_words = (s->max_cores + 63) / 64;
	for (i = 0; i < s->max_cores; i++) {
		for (k = 0; s->cores[i] && k < s->nr_private; k++) {
			uint64_t at = 0, value;

			while ((value = cache_next(s->cores[i]->path[k], &at))) {
				if (coherence_has(s, s->cores[i], SLOT_LINE(value)) < 0)
					return -ENOMEM;
			}
		}
	}
	return 0;
}

void coherence_release(struct sim *s)
{
	if (!s->directory)
		return;
	u64map_release(&s->directory->by_line);
	free(s->directory->words);
	free(s->directory);
	s->directory = NULL;
}

static bool has_anywhere(const struct sim *s, const struct core *core, uint64_t line)
{
	uint32_t k;

	for (k = 0; k < s->nr_private; k++) {
		if (cache_find(core->path[k], line))
			return true;
	}
	return false;
}

/* Iterate over the cores of a set: *@i starts at -1; returns false at the end. */
static bool next_core(const struct directory *d, const uint64_t *words, int64_t *i)
{
	uint64_t at = (uint64_t)(*i + 1);

	while (at < (uint64_t)d->nr_words * 64) {
		uint64_t rest = words[at / 64] >> at % 64;

		if (rest) {
			*i = (int64_t)at + __builtin_ctzll(rest);
			return true;
		}
		at = (at / 64 + 1) * 64;
	}
	return false;
}

void coherence_left(struct sim *s, const struct core *core, uint32_t level, uint64_t line)
{
	const struct cache *cache = core->path[level];
	uint64_t *words = coherence_holders(s->directory, line);
	int64_t i = -1;

	if (!words)
		return;
	while (next_core(s->directory, words, &i)) {
		const struct core *c = s->cores[i];

		if (c->path[level] == cache && !has_anywhere(s, c, line))
			words[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	leave_if_empty(s->directory, line, words);
}

bool coherence_elsewhere(const struct sim *s, const struct core *core, uint64_t line)
{
	const uint64_t *words = coherence_holders(s->directory, line);
	int64_t i = -1;

	while (words && next_core(s->directory, words, &i)) {
		if (i != core->number)
			return true;
	}
	return false;
}

/* The first level at which both cores use the same cache; nr_levels if there is none. */
static uint32_t common_level(const struct sim *s, const struct core *a, const struct core *b)
{
	uint32_t k;

	for (k = 0; k < s->nr_levels && a->path[k] != b->path[k]; k++)
		;
	return k;
}

/* Remove the line from @other's caches that are not on the path of u->core. */
static int take_away(struct use *u, const struct core *other, struct peers *peers)
{
	struct sim *s = u->sim;
	uint32_t k, common = common_level(s, u->core, other);
	bool any = false;

	for (k = 0; k < common && k < s->nr_private; k++) {
		uint64_t value, *slot = cache_find(other->path[k], u->line);

		if (!slot)
			continue;
		value = cache_remove(other->path[k], slot);
		if (value & SLOT_PREFETCH)
			s->traffic[k].useless += s->weight;
		if (value & SLOT_DIRTY) {
			peers->dirty = true;
			peers->common = common;
		}
		any = true;
		if (classes_lost(other->path[k], u->line) < 0)
			return -ENOMEM;
	}
	if (!any)
		return 0;
	peers->had = true;
	s->totals.invalidations += s->weight;
	u->thread->public.invalidated += s->weight;
	other->last->public.lost += s->weight;
	if (u->out)
		u->out->invalidated++;
	return s->sharing ? sharing_taken(u, other) : 0;
}

/* Make the line shared and clean in @other's caches that are not on the path of u->core. */
static void make_shared(struct use *u, const struct core *other, struct peers *peers)
{
	struct sim *s = u->sim;
	uint32_t k, common = common_level(s, u->core, other);
	bool any = false;

	for (k = 0; k < common && k < s->nr_private; k++) {
		uint64_t *slot = cache_find(other->path[k], u->line);

		if (!slot)
			continue;
		if (*slot & SLOT_DIRTY) {
			s->traffic[k].write_backs += s->weight;
			peers->dirty = true;
			peers->common = common;
		}
		*slot = (*slot & ~SLOT_DIRTY) | SLOT_SHARED;
		any = true;
	}
	for (k = 0; any && k < common; k++)
		peers->remain[k] = true;
	peers->had |= any;
}

int coherence_ask(struct use *u, struct peers *peers)
{
	struct directory *d = u->sim->directory;
	uint64_t *words = coherence_holders(d, u->line);
	int64_t i = -1;
	int ret = 0;

	memset(peers, 0, sizeof(*peers));
	while (words && ret == 0 && next_core(d, words, &i)) {
		const struct core *other = u->sim->cores[i];

		if (other == u->core)
			continue;
		if (!u->is_write) {
			make_shared(u, other, peers);
			continue;
		}
		ret = take_away(u, other, peers);
		if (!has_anywhere(u->sim, other, u->line)) /* it may share a cache with u->core */
			words[i / 64] &= ~(UINT64_C(1) << i % 64);
	}
	if (words && u->is_write)
		leave_if_empty(d, u->line, words);
	return ret;
}

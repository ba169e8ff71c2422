/* SPDX-License-Identifier: MIT */
/*
 * cache_path.c - an access through the levels: lookup, fill, eviction.
 *
 * A use goes outwards until a level holds the line and, if it is a write, until a level keeps
 * the written data.  Then the caches of other cores are asked.  Then lines are filled from the
 * outermost level inwards, so that an inclusive level holds a line before the levels above it.
 */
#include <errno.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

#define NO_LEVEL UINT32_MAX

/* State of one use on its way through the levels. */
struct path_walk {
	struct use *u;
	uint32_t first_hit, last_hit; /* NO_LEVEL: none yet */
	uint32_t kept;                /* the level that keeps the written data */
	uint32_t fills;               /* levels to fill, a bit each */
	uint32_t prefetches;          /* levels that also fetch the next line, a bit each */
	bool carries;                 /* a write that no level has kept yet */
	bool needs;                   /* no level has held the line yet */
	bool moved_dirty;             /* an exclusive level gave it up, dirty */
	bool was_shared, was_lost;
};

/* ---- lines that leave a cache ---------------------------------------------- */

void path_write_back(struct sim *s, const struct core *core, uint32_t from, uint64_t line)
{
	uint32_t k;

	for (k = from + 1; k < s->nr_levels; k++) {
		uint64_t *slot = cache_find(core->path[k], line_at(s, k, line));

		if (!slot)
			continue;
		if (!s->config.level[k].write_through) {
			*slot |= SLOT_DIRTY;
			return;
		}
		s->traffic[k].writes_through += s->weight;
	}
	s->totals.memory_writes += s->weight;
}

/* Remove a copy in a level above an inclusive one.  Returns true if the copy was dirty. */
static bool drop_above(struct sim *s, const struct core *core, uint32_t level, uint64_t line)
{
	uint64_t value, *slot = cache_find(core->path[level], line);

	if (!slot)
		return false;
	value = cache_remove(core->path[level], slot);
	if (value & SLOT_PREFETCH)
		s->traffic[level].useless += s->weight;
	if (s->directory && level < s->nr_private)
		coherence_left(s, core, level, line);
	return value & SLOT_DIRTY;
}

static bool drop_all_above(struct sim *s, const struct cache *cache, uint32_t level, uint64_t line)
{
	bool dirty = false;
	uint32_t i, j;

	for (i = 0; i < s->nr_cores; i++) {
		const struct core *core = s->list[i];

		for (j = 0; core->path[level] == cache && j < level; j++) {
			uint32_t bits = s->line_shift[level] - s->line_shift[j];
			uint64_t at = line << bits, end = at + (UINT64_C(1) << bits);

			for (; at < end; at++) {
				if (!cache_find(core->path[j], at))
					continue;
				s->traffic[level].back_invalidations += s->weight;
				dirty |= drop_above(s, core, j, at);
			}
		}
	}
	return dirty;
}

/* An exclusive level gives a line to the levels above.  Returns true if the line was dirty. */
static bool path_give_up(struct sim *s, const struct core *core, uint32_t level, uint64_t *slot)
{
	uint64_t value = cache_remove(core->path[level], slot);

	if (s->directory && level < s->nr_private)
		coherence_left(s, core, level, SLOT_LINE(value));
	return value & SLOT_DIRTY;
}

static void path_fill(struct sim *s, const struct core *core, uint32_t level, uint64_t line,
		      uint64_t flags);

/* @value was evicted from the cache of @level. */
static void path_evict(struct sim *s, const struct core *core, uint32_t level, uint64_t value)
{
	uint64_t line = SLOT_LINE(value);
	/* The first-level line.  Line sizes are equal wherever it matters (check_coherence()). */
	uint64_t first = line << (s->line_shift[level] - s->line_shift[0]);

	s->traffic[level].evictions += s->weight;
	if (value & SLOT_PREFETCH)
		s->traffic[level].useless += s->weight;
	if (level && s->config.level[level].inclusion == SIM_INCLUSIVE &&
	    drop_all_above(s, core->path[level], level, line))
		value |= SLOT_DIRTY;
	if (s->directory && level < s->nr_private)
		coherence_left(s, core, level, line);
	if (value & SLOT_DIRTY)
		s->traffic[level].write_backs += s->weight;
	if (level + 1 < s->nr_levels && s->config.level[level + 1].inclusion == SIM_EXCLUSIVE)
		path_fill(s, core, level + 1, line, value & (SLOT_DIRTY | SLOT_SHARED));
	else if (value & SLOT_DIRTY)
		path_write_back(s, core, level, first);
}

/* @line is a line of @level.  It may be there already: two cores evicted the same line. */
static void path_fill(struct sim *s, const struct core *core, uint32_t level, uint64_t line,
		      uint64_t flags)
{
	struct cache *c = core->path[level];
	uint64_t victim, *slot = NULL;

	if (s->config.level[level].inclusion == SIM_EXCLUSIVE)
		slot = cache_find(c, line);
	if (slot) {
		*slot |= flags;
		return;
	}
	cache_insert(c, SLOT_OF(line) | flags, &victim);
	if (s->directory && level < s->nr_private && coherence_has(s, core, line) < 0)
		s->failed = -ENOMEM;
	if (victim)
		path_evict(s, core, level, victim);
}

/* ---- prefetch -------------------------------------------------------------- */

static void path_prefetch(struct use *u, uint32_t level)
{
	struct sim *s = u->sim;
	uint32_t shift = s->line_shift[level], k;
	uint64_t next = line_at(s, level, u->line) + 1, flags = SLOT_PREFETCH;
	uint64_t first = next << (shift - s->line_shift[0]);

	/* No prefetch across a page, nor past the end of memory, which is another page as well. */
	if (next << shift >> s->page_shift != (next - 1) << shift >> s->page_shift)
		return;
	if (cache_find(u->core->path[level], next) ||
	    (s->directory && coherence_elsewhere(s, u->core, first)))
		return;
	s->traffic[level].prefetches += s->weight;
	if (level == 0 && s->sharing && sharing_follows(s, first))
		flags |= SLOT_FOLLOWED;
	for (k = level + 1; k < s->nr_levels; k++) {
		uint64_t *slot = cache_find(u->core->path[k], line_at(s, k, first));

		if (!slot)
			continue;
		slot = cache_use(u->core->path[k], slot);
		if (s->config.level[k].inclusion == SIM_EXCLUSIVE)
			flags |= path_give_up(s, u->core, k, slot) ? SLOT_DIRTY : 0;
		break;
	}
	if (k == s->nr_levels)
		s->totals.memory_reads += s->weight;
	while (k-- > level) {
		if (k == level || s->config.level[k].inclusion != SIM_EXCLUSIVE)
			path_fill(s, u->core, k, line_at(s, k, first), k == level ? flags : 0);
	}
}

/* ---- lookup ---------------------------------------------------------------- */

static void path_handle_hit(struct path_walk *w, uint32_t k, uint64_t *slot)
{
	const struct sim_level_config *config = &w->u->sim->config.level[k];
	struct sim *s = w->u->sim;
	struct cache *c = w->u->core->path[k];

	w->u->thread->level[k].hits[w->u->is_write] += s->weight;
	if (w->u->out)
		w->u->out->level[k].hits++;
	if (c->classes && classes_use(c, SLOT_LINE(*slot)) < 0)
		s->failed = -ENOMEM;
	slot = cache_use(c, slot);
	if (*slot & SLOT_PREFETCH) {
		*slot &= ~SLOT_PREFETCH;
		s->traffic[k].useful += s->weight;
		if (config->prefetch == SIM_PREFETCH_TAGGED)
			w->prefetches |= 1u << k;
	}
	w->first_hit = w->first_hit == NO_LEVEL ? k : w->first_hit;
	w->last_hit = k;
	w->was_shared |= k < s->nr_private && *slot & SLOT_SHARED;
	if (w->carries && config->write_through) {
		s->traffic[k].writes_through += s->weight;
	} else if (w->carries) {
		*slot |= SLOT_DIRTY;
		w->kept = k;
		w->carries = false;
	} else if (k && w->needs && config->inclusion == SIM_EXCLUSIVE) {
		w->moved_dirty = path_give_up(s, w->u->core, k, slot);
	}
	w->needs = false;
}

static int count_miss(struct path_walk *w, uint32_t k, uint64_t line)
{
	struct use *u = w->u;
	struct cache *c = u->core->path[k];
	bool lost = u->sim->directory && k < u->sim->nr_private && classes_was_lost(c, line);
	int class = lost ? SIM_COHERENCE : -1;

	w->was_lost |= lost;
	u->thread->level[k].misses[u->is_write] += u->sim->weight;
	if (c->classes) {
		class = classes_miss(c, line, lost);
		if (class < 0)
			return class;
	}
	if (class >= 0)
		u->thread->level[k].by_class[class][u->is_write] += u->sim->weight;
	if (u->out) {
		u->out->level[k].misses++;
		if (class >= 0)
			u->out->level[k].by_class[class]++;
	}
	return 0;
}

static int path_handle_miss(struct path_walk *w, uint32_t k, uint64_t line)
{
	const struct sim_level_config *config = &w->u->sim->config.level[k];
	bool fills = !(k && config->inclusion == SIM_EXCLUSIVE) &&
		     !(w->carries && config->no_allocate);

	if (fills)
		w->fills |= 1u << k;
	if (w->carries && fills && !config->write_through) {
		w->kept = k;
		w->carries = false;
	} else if (w->carries) {
		w->u->sim->traffic[k].writes_through += w->u->sim->weight;
	}
	if (config->prefetch != SIM_PREFETCH_NONE)
		w->prefetches |= 1u << k;
	return count_miss(w, k, line);
}

/* ---- the complete path ----------------------------------------------------- */

/* Set the shared flag of this core's copies to whether other cores still hold the line. */
static void set_shared(struct use *u, const struct peers *peers)
{
	uint32_t k;

	for (k = 0; k < u->sim->nr_private; k++) {
		uint64_t *slot = cache_find(u->core->path[k], u->line);

		if (slot)
			*slot = (*slot & ~SLOT_SHARED) | (peers->remain[k] ? SLOT_SHARED : 0);
	}
}

static void note_served(struct path_walk *w, bool from_peer, bool from_memory)
{
	struct sim_outcome *out = w->u->out;
	uint8_t served = (uint8_t)(w->first_hit == NO_LEVEL ? w->u->sim->nr_levels : w->first_hit);
	uint64_t bit = w->u->index < 64 ? UINT64_C(1) << w->u->index : 0;

	if (from_peer && w->first_hit != 0)
		served = SIM_SERVED_PEER;
	/* Order: levels, then a peer, then memory. */
	if (served == w->u->sim->nr_levels || out->served == w->u->sim->nr_levels)
		out->served = (uint8_t)w->u->sim->nr_levels;
	else if (served > out->served)
		out->served = served;
	if (w->first_hit != 0)
		out->missed_first |= bit;
	if (w->first_hit == NO_LEVEL)
		out->missed_all |= bit;
	out->from_peer = (uint16_t)(out->from_peer + from_peer);
	out->fetched = (uint16_t)(out->fetched + from_memory);
}

/* Count the source of the line (a peer or memory) if no level of this core held it. */
static void path_load_line(struct path_walk *w, const struct peers *peers)
{
	struct sim *s = w->u->sim;
	uint32_t beyond = w->last_hit == NO_LEVEL ? 0 : w->last_hit + 1;
	bool missing = w->fills >> beyond;
	bool from_peer = w->fills && (peers->dirty || (peers->had && missing));

	if (from_peer) {
		s->totals.interventions += s->weight;
		s->totals.dirty_transfers += peers->dirty ? s->weight : 0;
		w->u->thread->public.from_peer += s->weight;
	} else if (missing) {
		s->totals.memory_reads += s->weight;
	}
	if (w->u->out)
		note_served(w, from_peer, missing && !from_peer);
}

static void fill_all(struct path_walk *w, const struct peers *peers)
{
	struct sim *s = w->u->sim;
	uint32_t k;

	for (k = s->nr_levels; k-- > 0;) {
		uint64_t flags = 0;

		if (!(w->fills >> k & 1))
			continue;
		if (w->kept == k || (w->moved_dirty && k == 0))
			flags |= SLOT_DIRTY;
		if (k < s->nr_private && peers->remain[k])
			flags |= SLOT_SHARED;
		path_fill(s, w->u->core, k, line_at(s, k, w->u->line), flags);
	}
	if (w->carries)
		s->totals.memory_writes += s->weight;
}

/* After a use, with several cores: record it if the line is followed. */
static void follow_up(struct use *u, bool was_lost)
{
	uint64_t *slot;

	if (!u->sim->sharing)
		return;
	if (sharing_use(u, was_lost) && (slot = cache_find(u->core->path[0], u->line)))
		*slot |= SLOT_FOLLOWED;
}

static int path_access(struct path_walk *w, uint32_t k)
{
	struct use *u = w->u;
	struct sim *s = u->sim;

	for (; k < s->nr_levels && (w->needs || w->carries); k++) {
		uint64_t line = line_at(s, k, u->line);
		uint64_t *slot = k ? cache_find(u->core->path[k], line) : NULL;
		int ret = 0;

		if (slot)
			path_handle_hit(w, k, slot);
		else
			ret = path_handle_miss(w, k, line);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static void prefetch_all(struct path_walk *w)
{
	uint32_t k;

	for (k = 0; w->prefetches >> k; k++) {
		if (w->prefetches >> k & 1)
			path_prefetch(w->u, k);
	}
}

int path_miss(struct use *u)
{
	struct path_walk w = { .u = u,
			       .first_hit = NO_LEVEL,
			       .last_hit = NO_LEVEL,
			       .kept = NO_LEVEL,
			       .carries = u->is_write,
			       .needs = true };
	struct peers peers = { 0 };
	int ret = path_access(&w, 0);

	if (ret == 0 && u->sim->directory) {
		ret = coherence_ask(u, &peers);
		if (u->is_write && w.was_shared)
			u->sim->totals.upgrades += u->sim->weight;
		if (w.was_shared)
			set_shared(u, &peers);
	}
	if (ret < 0)
		return ret;
	path_load_line(&w, &peers);
	fill_all(&w, &peers);
	if (peers.dirty && (!u->is_write || w.kept >= peers.common))
		path_write_back(u->sim, u->core, peers.common - 1, u->line);
	/* A cache that several cores share may have held the line for another core. */
	if (u->sim->directory && w.first_hit < u->sim->nr_private &&
	    cache_find(u->core->path[w.first_hit], u->line))
		ret = coherence_has(u->sim, u->core, u->line);
	if (u->sim->directory)
		follow_up(u, w.was_lost);
	prefetch_all(&w);
	return ret < 0 ? ret : u->sim->failed;
}

int path_hit(struct use *u, uint64_t *slot)
{
	struct sim *s = u->sim;
	struct path_walk w = { .u = u, .last_hit = 0, .kept = NO_LEVEL };
	bool followed = *slot & SLOT_FOLLOWED;
	struct peers peers = { 0 };
	int ret = 0;

	if (*slot & SLOT_PREFETCH) {
		*slot &= ~SLOT_PREFETCH;
		s->traffic[0].useful += s->weight;
		if (s->config.level[0].prefetch == SIM_PREFETCH_TAGGED)
			w.prefetches = 1;
	}
	if (u->is_write && *slot & SLOT_SHARED && s->directory) {
		s->totals.upgrades += s->weight;
		ret = coherence_ask(u, &peers);
		set_shared(u, &peers);
		followed |= peers.had;
	}
	*slot &= ~SLOT_FOLLOWED;
	if (ret == 0 && u->is_write && !s->config.level[0].write_through) {
		*slot |= SLOT_DIRTY;
	} else if (ret == 0 && u->is_write) {
		s->traffic[0].writes_through += s->weight;
		w.carries = true;
		ret = path_access(&w, 1);
		w.first_hit = 0;
		path_load_line(&w, &peers);
		fill_all(&w, &peers);
	}
	if (ret == 0 && followed)
		follow_up(u, false);
	prefetch_all(&w);
	return ret < 0 ? ret : s->failed;
}

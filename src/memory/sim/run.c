/* SPDX-License-Identifier: MIT */
/*
 * run.c - many accesses in a row: the fast path.
 *
 * The most common machine is simple: one core so far, every level write-back, allocating and
 * non-inclusive, LRU in the first level, no TLB, no prefetch.  For it, this file does what
 * path.c does, without the decisions.  Every other case takes the general path.  Both give the
 * same counts (tests/memory/sim).
 */
#include <errno.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

#define AHEAD  16 /* accesses: distance at which the second level's set is prefetched */
#define CLOSER 8  /* the same for the line's node in its shadow */

static bool is_simple(const struct sim *s, const struct cache *first)
{
	uint32_t k;

	if (s->directory || s->config.nr_tlbs || first->is_pool || first->policy != SIM_LRU)
		return false;
	for (k = 0; k < s->nr_levels; k++) {
		const struct sim_level_config *c = &s->config.level[k];

		if (c->write_through || c->no_allocate || c->inclusion != SIM_NON_INCLUSIVE ||
		    c->prefetch != SIM_PREFETCH_NONE)
			return false;
	}
	return true;
}

/* Count the eviction of @victim from level @k. */
static inline void sim_count_lost(struct sim *s, const struct core *core, uint32_t k,
				  uint64_t victim)
{
	s->traffic[k].evictions += s->weight;
	if (victim & SLOT_DIRTY) {
		s->traffic[k].write_backs += s->weight;
		path_write_back(s, core, k,
				SLOT_LINE(victim) << (s->line_shift[k] - s->line_shift[0]));
	}
}

static inline int miss_at(struct sim *s, struct thread *t, struct cache *c, uint32_t k,
			  uint64_t line, bool is_write)
{
	int class;

	t->level[k].misses[is_write] += s->weight;
	if (!c->classes)
		return 0;
	class = classes_miss(c, line, false);
	if (class < 0)
		return class;
	t->level[k].by_class[class][is_write] += s->weight;
	return 0;
}

/* Handle a miss of the first level. */
static int sim_handle_miss(struct sim *s, struct thread *t, uint64_t line, bool is_write)
{
	struct core *core = t->core;
	uint64_t victim, *slot;
	uint32_t k;
	int ret = miss_at(s, t, core->path[0], 0, line, is_write);

	for (k = 1; ret == 0 && k < s->nr_levels; k++) {
		struct cache *c = core->path[k];

		slot = cache_find(c, line_at(s, k, line));
		if (slot) {
			t->level[k].hits[is_write] += s->weight;
			if (c->classes)
				classes_hit(c, slot);
			cache_use(c, slot);
			break;
		}
		ret = miss_at(s, t, c, k, line_at(s, k, line), is_write);
	}
	if (ret < 0)
		return s->failed = ret;
	s->totals.memory_reads += k == s->nr_levels ? s->weight : 0;
	while (k-- > 0) {
		struct cache *c = core->path[k];
		uint64_t value = SLOT_OF(line_at(s, k, line));

		slot = cache_insert(c, value | (k || !is_write ? 0 : SLOT_DIRTY), &victim);
		classes_came(c, slot);
		if (victim)
			sim_count_lost(s, core, k, victim);
	}
	return 0;
}

static inline int sim_use(struct sim *s, struct thread *t, struct cache *c, uint64_t line,
			  bool is_write)
{
	uint64_t *set = cache_set(c, line), want = SLOT_OF(line);
	uint32_t i;

	for (i = 0; i < c->ways; i++) {
		if ((set[i] & ~SLOT_FLAGS) == want)
			break;
	}
	if (i == c->ways)
		return sim_handle_miss(s, t, line, is_write);
	t->level[0].hits[is_write] += s->weight;
	if (c->classes)
		classes_hit(c, &set[i]);
	if (i)
		cache_to_front(c, set, &set[i]);
	*set |= is_write ? SLOT_DIRTY : 0;
	return 0;
}

/*
 * If many accesses miss the first level, most of the time goes into cache misses of the
 * simulator itself, on the data of the second level.  Prefetch that data while other accesses
 * are simulated.
 */
static inline void fetch_ahead(const struct cache *c, const struct mem_access *a, size_t left)
{
	const uint64_t *slot;
	uint64_t line;

	if (left > AHEAD) {
		slot = cache_set(c, a[AHEAD].address >> c->shift);
		__builtin_prefetch(slot);
		if (c->ways > 8)
			__builtin_prefetch(slot + 8);
		if (c->nodes)
			__builtin_prefetch(c->nodes + (slot - c->slots));
	}
	if (!c->nodes || left <= CLOSER)
		return;
	line = a[CLOSER].address >> c->shift;
	slot = cache_find(c, line);
	if (slot)
		__builtin_prefetch(&c->shadow.nodes[c->nodes[slot - c->slots]], 1);
	else
		pool_fetch(&c->shadow, SLOT_OF(line));
}

static int run_simple(struct sim *s, struct thread *t, const struct mem_access *access, size_t nr)
{
	struct cache *first = t->core->path[0];
	const struct cache *second = s->nr_levels > 1 ? t->core->path[1] : NULL;
	uint32_t shift = s->line_shift[0];
	uint64_t bytes = 0, before = t->level[0].misses[0] + t->level[0].misses[1];
	bool ahead = second && !second->is_pool && second->power_of_two && s->missing;
	int ret = 0;
	size_t i;

	for (i = 0; ret == 0 && i < nr; i++) {
		const struct mem_access *a = &access[i];
		uint64_t line = a->address >> shift;

		if (ahead)
			fetch_ahead(second, a, nr - i);
		if (!a->size || (a->address + a->size - 1) >> shift != line) {
			ret = sim_access_of(s, t, a->address, a->size, a->is_write, NULL);
			continue;
		}
		t->public.accesses[a->is_write] += s->weight;
		bytes += a->size;
		ret = sim_use(s, t, first, line, a->is_write);
	}
	s->totals.bytes += bytes * s->weight;
	/* Prefetching pays off if more than about 3 % of the accesses miss. */
	before = t->level[0].misses[0] + t->level[0].misses[1] - before;
	s->missing = before > nr * s->weight / 32;
	return ret;
}

int sim_run(struct sim *s, uint32_t thread, const struct mem_access *access, size_t nr)
{
	struct thread *t = sim_thread_of(s, thread);
	int ret = 0;
	size_t i;

	if (!t)
		s->failed = -ENOMEM;
	if (s->failed)
		return s->failed;
	if (is_simple(s, t->core->path[0]))
		return run_simple(s, t, access, nr);
	for (i = 0; ret == 0 && i < nr; i++)
		ret = sim_access_of(s, t, access[i].address, access[i].size, access[i].is_write,
				    NULL);
	return ret;
}

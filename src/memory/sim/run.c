/* SPDX-License-Identifier: MIT */
/*
 * run.c - many accesses in a row: the fast path.
 *
 * The most common machine is simple: one core so far, every level write-back, allocating and
 * non-inclusive, LRU in the first level, no TLB, no prefetch.  For it, lru_run.h does what
 * cache_path.c does, without the decisions, and notes the lines that each level looked up; their
 * classes are found afterwards.  Every other case takes the general path.  Both give the same
 * counts (tests/memory/sim).
 */
#include <errno.h>
#include <stdlib.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

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

int sim_choose_path(struct sim *s, const char *name)
{
	const struct lru_path *path = lru_path_of(name);

	if (!path)
		return -ENOTSUP;
	s->path = path;
	return 0;
}

/* ---- classes ----------------------------------------------------------------- */

/* Take the noted uses of level @k to its shadow, and count the classes of the misses. */
static int run_classify(struct sim *s, struct thread *t, const struct lru_run *x, uint32_t k)
{
	struct cache *c = x->path[k];
	uint32_t i;

	for (i = 0; i < x->nr_uses[k]; i++) {
		uint64_t use = x->uses[k][i];
		int class = 0;

		if (!(use & USE_MISS)) {
			if (classes_use(c, SLOT_LINE(use)) < 0)
				return -ENOMEM;
			continue;
		}
		class = classes_miss(c, SLOT_LINE(use), false);
		if (class < 0)
			return class;
		t->level[k].by_class[class][use & USE_WRITE] += s->weight;
	}
	return 0;
}

/* ---- accesses ---------------------------------------------------------------- */

static void run_count(struct sim *s, struct thread *t, const struct lru_run *x)
{
	uint64_t weight = s->weight;
	uint32_t k, w;

	s->totals.bytes += x->bytes * weight;
	s->totals.straddles += x->straddles * weight;
	s->totals.empty += x->empty * weight;
	s->totals.memory_reads += x->memory_reads * weight;
	s->totals.memory_writes += x->memory_writes * weight;
	for (w = 0; w < 2; w++) {
		t->public.accesses[w] += x->accesses[w] * weight;
		t->level[0].hits[w] += (x->lines[w] - x->misses[0][w]) * weight;
	}
	for (k = 0; k < s->nr_levels; k++) {
		s->traffic[k].evictions += x->evictions[k] * weight;
		s->traffic[k].write_backs += x->write_backs[k] * weight;
		for (w = 0; w < 2; w++) {
			t->level[k].hits[w] += x->hits[k][w] * weight;
			t->level[k].misses[w] += x->misses[k][w] * weight;
		}
	}
}

/* Buffers for the uses of each level. */
static int run_start_notes(struct sim *s)
{
	uint32_t k;

	for (k = 0; k < s->nr_levels; k++) {
		if (!s->uses[k])
			s->uses[k] = malloc(LRU_USES * sizeof(*s->uses[k]));
		if (!s->uses[k])
			return -ENOMEM;
	}
	return 0;
}

static int run_simple(struct sim *s, struct thread *t, const struct mem_access *access, size_t nr)
{
	struct lru_run x = { .nr_levels = s->nr_levels,
			     .ahead = s->nr_levels > 1 && s->missing,
			     .notes = !s->config.no_classes };
	int ret = x.notes ? run_start_notes(s) : 0;
	uint32_t k;

	for (k = 0; k < s->nr_levels; k++) {
		x.path[k] = t->core->path[k];
		x.uses[k] = s->uses[k];
	}
	x.ahead = x.ahead && !x.path[1]->is_pool && x.path[1]->power_of_two;
	if (ret == 0)
		s->path->run(&x, access, nr);
	for (k = 0; ret == 0 && x.notes && k < s->nr_levels; k++)
		ret = run_classify(s, t, &x, k);
	run_count(s, t, &x);
	/* Prefetching pays off if more than about 3 % of the accesses miss. */
	s->missing = x.misses[0][0] + x.misses[0][1] > nr / 32;
	return s->failed = ret;
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
	if (is_simple(s, t->core->path[0])) {
		for (i = 0; ret == 0 && i < nr; i += LRU_CHUNK)
			ret = run_simple(s, t, access + i, nr - i < LRU_CHUNK ? nr - i : LRU_CHUNK);
		return ret;
	}
	for (i = 0; ret == 0 && i < nr; i++)
		ret = sim_access_of(s, t, access[i].address, access[i].size, access[i].is_write,
				    NULL);
	return ret;
}

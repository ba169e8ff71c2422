/* SPDX-License-Identifier: MIT */
/* sim.c - the simulator: cores, threads, and the entry points for accesses. */
#include "memory/sim/sim.h"

#include <errno.h>
#include <stdlib.h>

#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

/* ---- create and free ------------------------------------------------------- */

static uint32_t log2_of(uint64_t v)
{
	return (uint32_t)__builtin_ctzll(v);
}

struct sim *sim_new(const struct sim_config *config, struct err *err)
{
	struct sim *s;
	uint32_t k;

	if (sim_config_check(config, err) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, -ENOMEM, "no memory for the simulator");
		return NULL;
	}
	s->config = *config;
	s->nr_levels = config->nr_levels;
	s->max_cores = config->cores ? config->cores : SIM_CORES_AUTO;
	s->page_shift = log2_of(config->page);
	s->weight = 256;
	s->path = lru_path_of(NULL);
	for (k = 0; k < s->nr_levels; k++)
		s->line_shift[k] = log2_of(config->level[k].line);
	for (k = 0; k < s->nr_levels && s->max_cores > 1; k++) {
		uint32_t share = config->level[k].share;

		if (share == 0 || share >= s->max_cores)
			break;
		s->nr_private = k + 1;
	}
	return s;
}

void sim_free(struct sim *s)
{
	uint32_t i, k;

	if (!s)
		return;
	sim_end_class_thread(s);
	coherence_release(s);
	sharing_release(s);
	for (k = 0; k < s->nr_levels; k++) {
		for (i = 0; s->caches[k] && i < s->max_cores; i++) {
			if (s->caches[k][i])
				cache_release(s->caches[k][i]);
			free(s->caches[k][i]);
		}
		free(s->caches[k]);
		free(s->uses[k]);
		free(s->requests[k + 1]);
	}
	for (i = 0; i < s->nr_cores; i++) {
		for (k = 0; k < s->config.nr_tlbs; k++) {
			if (s->list[i]->tlb[k])
				cache_release(s->list[i]->tlb[k]);
			free(s->list[i]->tlb[k]);
		}
		free(s->list[i]);
	}
	free(s->missed);
	free(s->outcomes);
	for (i = 0; i < s->nr_threads; i++)
		free(s->threads[i]);
	free(s->threads);
	u64map_release(&s->by_number);
	u64map_release(&s->mapped);
	free(s);
}

const struct sim_config *sim_config_of(const struct sim *s)
{
	return &s->config;
}

/* ---- cores ----------------------------------------------------------------- */

static struct cache *cache_of(struct sim *s, uint32_t core, uint32_t level)
{
	const struct sim_level_config *c = &s->config.level[level];
	uint32_t index = c->share ? core / c->share : 0;
	struct cache **place;

	if (!s->caches[level]) {
		s->caches[level] = calloc(s->max_cores, sizeof(struct cache *)); /* NOLINT */
		if (!s->caches[level])
			return NULL;
	}
	place = &s->caches[level][index];
	if (*place)
		return *place;
	*place = calloc(1, sizeof(**place));
	if (!*place ||
	    cache_init(*place, c->size / c->line, c->ways, s->line_shift[level], c->policy,
		       s->config.seed + (uint64_t)level * 4096 + index, !s->config.no_classes) < 0)
		return NULL;
	return *place;
}

static struct core *core_of(struct sim *s, uint32_t number)
{
	struct core *core = s->cores[number];
	uint32_t k;

	if (core)
		return core;
	core = calloc(1, sizeof(*core));
	if (!core)
		return NULL;
	core->number = number;
	s->list[s->nr_cores++] = core;
	for (k = 0; k < s->nr_levels; k++) {
		core->path[k] = cache_of(s, number, k);
		if (!core->path[k])
			return NULL;
	}
	for (k = 0; k < s->config.nr_tlbs; k++) {
		const struct sim_tlb_config *t = &s->config.tlb[k];

		core->tlb[k] = calloc(1, sizeof(*core->tlb[k]));
		if (!core->tlb[k] || cache_init(core->tlb[k], t->entries, t->ways, s->page_shift,
						SIM_LRU, 0, false) < 0)
			return NULL;
	}
	s->cores[number] = core;
	if (s->nr_cores == 2 && s->nr_private) {
		if (coherence_start(s) < 0 || (!s->config.no_sharing && sharing_start(s) < 0))
			return NULL;
	}
	return core;
}

int sim_map_thread(struct sim *s, uint32_t thread, uint32_t core)
{
	if (core >= s->max_cores)
		return -EINVAL;
	return u64map_put(&s->mapped, thread, (uint64_t)core + 1);
}

/* ---- threads --------------------------------------------------------------- */

static struct thread *new_thread(struct sim *s, uint32_t number)
{
	struct thread *t;
	uint64_t core;

	if (s->nr_threads == s->threads_size) {
		uint32_t more = s->threads_size ? s->threads_size * 2 : 16;
		struct thread **threads = realloc(s->threads,
						  more * sizeof(struct thread *)); /* NOLINT */

		if (!threads)
			return NULL;
		s->threads = threads;
		s->threads_size = more;
	}
	if (u64map_get(&s->mapped, number, &core))
		core--;
	else
		core = s->next_core++ % s->max_cores;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	s->threads[s->nr_threads++] = t;
	t->public.thread = number;
	t->public.core = (uint32_t)core;
	t->core = core_of(s, (uint32_t)core);
	return t->core ? t : NULL;
}

struct thread *sim_thread_of(struct sim *s, uint32_t number)
{
	struct thread *t;
	uint64_t *index;

	if (s->last && s->last->public.thread == number)
		return s->last;
	index = u64map_at(&s->by_number, number);
	if (!index)
		return NULL;
	if (!*index && s->nr_threads >= SIM_THREADS_MAX) {
		/* Too many threads: count the rest as one. */
		u64map_remove(&s->by_number, number);
		index = u64map_at(&s->by_number, SIM_NOBODY);
		number = SIM_NOBODY;
		if (!index)
			return NULL;
	}
	if (!*index) {
		t = new_thread(s, number);
		if (!t)
			return NULL;
		*index = s->nr_threads;
	}
	t = s->threads[*index - 1];
	t->core->last = t;
	s->last = t;
	return t;
}

void sim_weight(struct sim *s, uint32_t weight_256)
{
	s->weight = weight_256 ? weight_256 : 256;
}

/* ---- accesses -------------------------------------------------------------- */

static void tlb_look(struct sim *s, struct thread *t, uint64_t page, struct sim_outcome *out)
{
	struct core *core = t->core;
	uint32_t k, missed;

	if (core->last_page == page + 1) {
		s->tlb[0].hits += s->weight;
		return;
	}
	core->last_page = page + 1;
	for (k = 0; k < s->config.nr_tlbs; k++) {
		uint64_t *slot = cache_find(core->tlb[k], page);

		if (slot) {
			s->tlb[k].hits += s->weight;
			cache_use(core->tlb[k], slot);
			break;
		}
		s->tlb[k].misses += s->weight;
		t->public.tlb_misses[k] += s->weight;
		if (out)
			out->tlb_misses[k]++;
	}
	for (missed = k; missed-- > 0;) {
		uint64_t victim;

		cache_insert(core->tlb[missed], SLOT_OF(page), &victim);
	}
}

/* The 64ths of @line that the bytes @first to @last touch. */
static uint64_t part_of(const struct sim *s, uint64_t line, uint64_t first, uint64_t last)
{
	uint32_t shift = s->line_shift[0];
	uint32_t grain = shift > 6 ? shift - 6 : 0;
	uint64_t start = line << shift, end = start + ((UINT64_C(1) << shift) - 1);
	uint64_t from = (first > start ? first - start : 0) >> grain;
	uint64_t to = ((last < end ? last : end) - start) >> grain;

	return (~UINT64_C(0) >> (63 - (to - from))) << from;
}

static int sim_use_line(struct use *u)
{
	struct cache *c = u->core->path[0];
	const struct sim *s = u->sim;
	uint64_t *slot = cache_find(c, u->line);
	uint64_t special;

	if (!slot)
		return path_miss(u);
	u->thread->level[0].hits[u->is_write] += s->weight;
	if (u->out)
		u->out->level[0].hits++;
	if (c->classes && classes_use(c, u->line) < 0)
		return -ENOMEM;
	slot = cache_use(c, slot);
	special = SLOT_FOLLOWED | SLOT_PREFETCH | (u->is_write ? SLOT_SHARED : 0);
	if (*slot & special || (u->is_write && s->config.level[0].write_through))
		return path_hit(u, slot);
	if (u->is_write)
		*slot |= SLOT_DIRTY;
	return 0;
}

int sim_access_of(struct sim *s, struct thread *t, uint64_t address, uint32_t size, bool is_write,
		  struct sim_outcome *out)
{
	struct use u = { .sim = s, .thread = t, .core = t->core, .out = out };
	uint32_t shift = s->line_shift[0];
	uint64_t last, end;
	int ret = 0;

	size = size > SIM_SIZE_MAX ? SIM_SIZE_MAX : size;
	t->public.accesses[is_write] += s->weight;
	s->totals.bytes += s->weight * size;
	if (!size) {
		s->totals.empty += s->weight;
		return 0;
	}
	last = address + size - 1 < address ? UINT64_MAX : address + size - 1;
	end = last >> shift;
	u.line = address >> shift;
	u.is_write = is_write;
	if (out) {
		out->first_line = u.line;
		out->nr_lines = (uint32_t)(end - u.line) + 1;
	}
	s->totals.straddles += u.line != end ? s->weight : 0;
	if (s->config.nr_tlbs) {
		uint64_t page = address >> s->page_shift;

		for (; page <= last >> s->page_shift; page++)
			tlb_look(s, t, page, out);
	}
	for (; ret == 0 && u.line <= end; u.line++, u.index++) {
		if (s->directory)
			u.mask = part_of(s, u.line, address, last);
		ret = sim_use_line(&u);
	}
	if (ret < 0)
		s->failed = ret;
	return ret;
}

int sim_access(struct sim *s, uint32_t thread, uint64_t address, uint32_t size, bool is_write,
	       struct sim_outcome *out)
{
	struct thread *t = sim_thread_of(s, thread);

	if (out) {
		memset(out, 0, sizeof(*out));
		out->lost_to = SIM_NOBODY;
	}
	if (!t)
		s->failed = -ENOMEM;
	else if (s->class_thread)
		sim_settle(s);
	return s->failed ? s->failed : sim_access_of(s, t, address, size, is_write, out);
}

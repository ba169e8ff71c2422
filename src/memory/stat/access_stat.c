/* SPDX-License-Identifier: MIT */
/* access_stat.c - statistics of a memory trace: lines, types, strides, reuse. */
#include "memory/stat/access_stat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"

#define NO_TYPE (~0u)

/* ---- threads ------------------------------------------------------------- */

static int thread_lines(struct mem_stat *s, struct mem_stat_thread *t)
{
	if (!s->config.per_thread || s->nr_threads > MEM_STAT_THREADS)
		return 0;
	t->lines = malloc(sizeof(*t->lines));
	return t->lines ? lines_init(t->lines, s->config.lines_max) : -ENOMEM;
}

static struct mem_stat_thread *mem_stat_thread_of(struct mem_stat *s, uint32_t number)
{
	uint64_t *at = u64map_at(&s->by_number, number);

	if (!at)
		return NULL;
	if (!*at) {
		if (s->nr_threads == s->threads_size) {
			size_t more = s->threads_size ? s->threads_size * 2 : 16;
			void *bigger = realloc(s->threads, more * sizeof(*s->threads));

			if (!bigger)
				return NULL;
			s->threads = bigger;
			s->threads_size = more;
		}
		s->threads[s->nr_threads] = (struct mem_stat_thread){ .number = number };
		*at = ++s->nr_threads;
		if (thread_lines(s, &s->threads[*at - 1]) < 0)
			return NULL;
	}
	return &s->threads[*at - 1];
}

/* ---- types --------------------------------------------------------------- */

static struct mem_stat_type *mem_stat_type_of(struct mem_stat *s, uint32_t number)
{
	if (number >= s->types_size) {
		size_t more = s->types_size ? s->types_size : 64;
		struct mem_stat_type *bigger;

		while (more <= number)
			more *= 2;
		bigger = realloc(s->types, more * sizeof(*bigger));
		if (!bigger)
			return NULL;
		memset(bigger + s->types_size, 0, (more - s->types_size) * sizeof(*bigger));
		s->types = bigger;
		s->types_size = more;
	}
	return &s->types[number];
}

static int mem_stat_annotation(struct mem_stat *s, const struct mem_record *r)
{
	const struct annotation *region;
	struct mem_stat_type *type;
	struct annotation met;
	int64_t number;
	char *name;

	s->annotations++;
	if (r->address == 0)
		return 0;
	if (r->kind == MEM_REMOVE) {
		region = regions_find(&s->regions, r->address);
		if (region && region->start == r->address)
			s->types[region->type].removed++;
		regions_remove(&s->regions, r->address);
		return 0;
	}
	name = strndup(r->name, r->name_size);
	number = name ? strtab_intern(&s->names, name) : -ENOMEM;
	free(name);
	type = number < 0 ? NULL : mem_stat_type_of(s, (uint32_t)number);
	if (!type)
		return -ENOMEM;
	type->added++;
	return regions_add(&s->regions, r->address, (uint64_t)r->elem_size * r->elem_count,
			   r->elem_size, (uint32_t)number, &met) < 0
		       ? -ENOMEM
		       : 0;
}

static uint32_t count_type(struct mem_stat *s, const struct mem_access *a)
{
	const struct annotation *region = regions_find(&s->regions, a->address);
	struct mem_stat_type *type;

	if (!region)
		return NO_TYPE;
	type = &s->types[region->type];
	if (a->is_write)
		type->writes++;
	else
		type->reads++;
	type->bytes += a->size;
	return region->type;
}

/* ---- windows ------------------------------------------------------------- */

/* Number of accesses in the trace, estimated before it is read; 0: unknown. */
static uint64_t mem_stat_expected(struct mem_reader *r)
{
	if (mem_reader_blocks(r)->nr)
		return mem_reader_blocks(r)->nr_accesses;
	return mem_reader_format(r) == MEM_FORMAT_RAW ? mem_reader_size(r) / 18 : 0;
}

/*
 * Count accesses in the current window, or in a new one, which begins at @time_ns.  Returns how
 * many of @nr are in it.
 */
static uint32_t mem_stat_window(struct mem_stat *s, uint64_t time_ns, uint32_t nr)
{
	struct mem_stat_window *w = s->nr_windows ? &s->windows[s->nr_windows - 1] : NULL;

	if (w)
		w->lines = s->lines.window_lines;
	if (!w || w->accesses >= s->window) {
		if (s->nr_windows == MEM_WINDOWS_MAX) {
			s->windows_full = true;
			return nr;
		}
		if (w)
			lines_window(&s->lines);
		w = &s->windows[s->nr_windows++];
		*w = (struct mem_stat_window){ .time_ns = time_ns };
	}
	if (nr > s->window - w->accesses)
		nr = (uint32_t)(s->window - w->accesses);
	w->accesses += nr;
	return nr;
}

/* ---- accesses ------------------------------------------------------------ */

static int mem_stat_use_lines(struct mem_stat *s, const struct mem_stat_thread *t,
			      const struct mem_access *a, uint32_t type)
{
	uint64_t first = a->address >> s->line_shift;
	uint64_t last = (a->address + (a->size ? a->size - 1u : 0u)) >> s->line_shift;

	if (last < first) /* wraps around the end of the address space */
		last = first;
	s->straddles += last > first;
	for (; first <= last; first++) {
		if (lines_use(&s->lines, first, a->is_write, t->number, type) < 0)
			return -ENOMEM;
		if (t->lines && lines_use(t->lines, first, a->is_write, t->number, type) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Accesses of one thread in one window. */
static int mem_stat_chunk(struct mem_stat *s, struct mem_stat_thread *t,
			  const struct mem_access *access, uint32_t nr)
{
	const struct mem_access *a = access, *end = access + nr;
	uint64_t writes = 0, bytes = 0;
	int ret = strides_run(&s->strides, t->number, access, nr);

	for (; ret == 0 && a < end; a++) {
		writes += a->is_write;
		bytes += a->size;
		ret = mem_stat_use_lines(s, t, a, s->regions.nr ? count_type(s, a) : NO_TYPE);
	}
	s->writes += writes;
	t->writes += writes;
	s->reads += nr - writes;
	t->reads += nr - writes;
	s->bytes += bytes;
	t->bytes += bytes;
	return ret;
}

static int one_record(struct mem_stat *s, const struct mem_record *r)
{
	struct mem_stat_thread *t = mem_stat_thread_of(s, r->thread);

	if (!t)
		return -ENOMEM;
	if (r->kind == MEM_CORO) {
		t->in_coroutine = r->value != 0;
		s->resumes += (r->cause & CRAY_CORO_CAUSE) == CRAY_CORO_RESUMED;
	}
	if (mem_is_raw(r))
		return mem_stat_annotation(s, r);
	if (r->kind == MEM_ALLOC) {
		s->allocations++;
		s->allocated += r->value;
	}
	if (r->kind == MEM_GAP) {
		if (r->cause < CRAY_GAP_SAMPLED)
			s->lost += r->value;
		else
			s->left_out += r->value;
		t->missing += r->value;
	}
	return 0;
}

/* A run of accesses of one thread. */
static int mem_stat_accesses(struct mem_stat *s, const struct mem_run *run)
{
	struct mem_stat_thread *t = mem_stat_thread_of(s, run->thread);
	uint32_t at, nr;
	int ret = 0;

	if (!t)
		return -ENOMEM;
	s->in_coroutines += t->in_coroutine ? run->nr : 0;
	s->weighted_256 += (uint64_t)run->weight_256 * run->nr;
	for (at = 0; ret == 0 && at < run->nr; at += nr) {
		nr = mem_stat_window(s, run->time_ns, run->nr - at);
		ret = mem_stat_chunk(s, t, run->access + at, nr);
	}
	return ret;
}

int mem_stat_run(struct mem_stat *s, const struct mem_stat_config *config, struct mem_reader *r,
		 struct err *err)
{
	struct progress progress;
	struct mem_run run;
	uint64_t n = 0;
	uint32_t i;
	int ret;

	memset(s, 0, sizeof(*s));
	s->config = *config;
	s->line_shift = (uint32_t)__builtin_ctz(config->line_size);
	s->window = config->window ? config->window : mem_stat_expected(r) / MEM_WINDOWS + 1;
	if (!config->window && !mem_stat_expected(r))
		s->window = 1000000;
	ret = lines_init(&s->lines, config->lines_max);
	progress_start(&progress, "reading", mem_reader_size(r));
	mem_reader_keep_stamps(r);
	while (ret == 0 && mem_reader_run(r, &run)) {
		ret = run.record ? one_record(s, run.record) : mem_stat_accesses(s, &run);
		n += run.nr + 1;
		if (n >= 0x10000) {
			progress_update(&progress, mem_reader_done(r));
			n = 0;
		}
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	if (s->nr_windows)
		s->windows[s->nr_windows - 1].lines = s->lines.window_lines;
	for (i = 0; i < MEM_CAUSES; i++)
		*(i < CRAY_GAP_SAMPLED ? &s->lost : &s->left_out) += mem_reader_facts(r)->lost[i];
	strides_sort(&s->strides);
	return ret < 0 ? err_set(err, -ENOMEM, "no memory for the statistics") : 0;
}

void mem_stat_release(struct mem_stat *s)
{
	size_t i;

	for (i = 0; i < s->nr_threads; i++) {
		if (s->threads[i].lines)
			lines_release(s->threads[i].lines);
		free(s->threads[i].lines);
	}
	free(s->threads);
	free(s->types);
	lines_release(&s->lines);
	strides_release(&s->strides);
	regions_release(&s->regions);
	strtab_release(&s->names);
	u64map_release(&s->by_number);
}

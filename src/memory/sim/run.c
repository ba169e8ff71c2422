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

#include "memory/sim/class_thread.h"
#include "memory/sim/classes.h"
#include "memory/sim/machine.h"

/* True if the machine is simple as long as it has one core. */
bool sim_takes_lines(const struct sim *s)
{
	const struct sim_level_config *first = &s->config.level[0];
	uint32_t k;

	if (s->config.nr_tlbs || first->policy != SIM_LRU ||
	    (first->ways ? first->ways : first->size / first->line) > CACHE_WAYS_MAX)
		return false;
	for (k = 0; k < s->nr_levels; k++) {
		const struct sim_level_config *c = &s->config.level[k];

		if (c->write_through || c->no_allocate || c->inclusion != SIM_NON_INCLUSIVE ||
		    c->prefetch != SIM_PREFETCH_NONE)
			return false;
	}
	return true;
}

static bool is_simple(const struct sim *s)
{
	return !s->directory && sim_takes_lines(s);
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

void sim_start_class_thread(struct sim *s)
{
	if (!s->config.no_classes && !s->class_thread)
		s->class_thread = class_thread_start(s->nr_levels);
}

int sim_end_class_thread(struct sim *s)
{
	int ret = class_thread_end(s->class_thread);

	s->class_thread = NULL;
	if (ret < 0)
		s->failed = ret;
	return s->failed;
}

int sim_settle(struct sim *s)
{
	int ret = s->class_thread ? class_thread_wait(s->class_thread) : 0;

	if (ret < 0)
		s->failed = ret;
	return s->failed;
}

/* ---- accesses ---------------------------------------------------------------- */

static void run_add_counts(struct sim *s, struct thread *t, const struct lru_run *x)
{
	uint64_t weight = s->weight;
	uint32_t k, w;

	s->totals.bytes += x->bytes * weight;
	s->totals.straddles += x->straddles * weight;
	s->totals.empty += x->empty * weight;
	s->totals.memory_writes += x->returned[s->nr_levels] * weight;
	for (k = 0; k < s->nr_levels; k++) {
		uint64_t misses = x->lookups[k + 1][SIM_READS] + x->lookups[k + 1][SIM_WRITES];

		s->traffic[k].evictions += (misses - x->fresh[k]) * weight;
		s->traffic[k].write_backs += (x->returned[k + 1] - x->passed[k]) * weight;
	}
	for (w = 0; w < 2; w++) {
		t->public.accesses[w] += x->accesses[w] * weight;
		for (k = 0; k < s->nr_levels; k++) {
			uint64_t lookups = k ? x->lookups[k][w] : x->lines[w];

			/* What a level misses is looked up in the next one. */
			t->level[k].hits[w] += (lookups - x->lookups[k + 1][w]) * weight;
			t->level[k].misses[w] += x->lookups[k + 1][w] * weight;
		}
		s->totals.memory_reads += x->lookups[k][w] * weight;
	}
}

/* Buffers for the requests to each level, and for its uses. */
static int run_start(struct sim *s, bool notes)
{
	uint32_t k;

	for (k = 0; k <= s->nr_levels; k++) {
		if (k && !s->requests[k])
			s->requests[k] = malloc(LRU_REQUESTS(k) * sizeof(*s->requests[k]));
		if (notes && k < s->nr_levels && !s->uses[k])
			s->uses[k] = malloc((size_t)LRU_USES * sizeof(*s->uses[k]));
		if ((k && !s->requests[k]) || (notes && k < s->nr_levels && !s->uses[k]))
			return -ENOMEM;
	}
	return 0;
}

/* Accesses, or the keys of their lines. */
struct run_input {
	const struct mem_access *access; /* NULL: keys */
	const uint64_t *key;
	size_t nr; /* LRU_CHUNK at most */
};

static void run_chunk(struct sim *s, struct thread *t, const struct run_input *in,
		      struct lru_run *x)
{
	uint32_t k;

	x->nr_levels = s->nr_levels;
	for (k = 0; k < s->nr_levels; k++) {
		x->path[k] = t->core->path[k];
		x->requests[k + 1] = s->requests[k + 1];
	}
	if (in->access)
		s->path->run(x, in->access, in->nr);
	else
		s->path->run_keys(x, in->key, in->nr);
	run_add_counts(s, t, x);
}

/* Simulate a chunk; *@x has the noted uses afterwards, with classes. */
static int run_simple(struct sim *s, struct thread *t, const struct run_input *in,
		      struct lru_run *x)
{
	int ret = run_start(s, x->notes);
	uint32_t k;

	if (ret < 0)
		return s->failed = ret;
	for (k = 0; k < s->nr_levels; k++)
		x->uses[k] = s->uses[k];
	run_chunk(s, t, in, x);
	for (k = 0; ret == 0 && !s->config.no_classes && k < s->nr_levels; k++)
		ret = classes_of_uses(x->path[k], x->uses[k], x->nr_uses[k], s->weight,
				      t->level[k].by_class);
	return s->failed = ret;
}

/* The same, with the classes found by a thread of their own. */
static int run_beside_classes(struct sim *s, struct thread *t, const struct run_input *in,
			      struct lru_run *x)
{
	struct class_batch *b = class_thread_batch(s->class_thread, t, s->weight);

	if (!b || run_start(s, false) < 0)
		return s->failed = -ENOMEM;
	memcpy(b->path, t->core->path, sizeof(b->path));
	memcpy(x->uses, b->uses, sizeof(x->uses));
	memcpy(x->nr_uses, b->nr_uses, sizeof(x->nr_uses));
	run_chunk(s, t, in, x);
	memcpy(b->nr_uses, x->nr_uses, sizeof(x->nr_uses));
	return 0;
}

static int run_input(struct sim *s, struct thread *t, const struct run_input *in, struct lru_run *x)
{
	x->notes = !s->config.no_classes;
	return s->class_thread ? run_beside_classes(s, t, in, x) : run_simple(s, t, in, x);
}

int sim_run_lines(struct sim *s, uint32_t thread, const struct mem_lines *lines)
{
	struct thread *t = sim_thread_of(s, thread);
	struct lru_run x = { .bytes = lines->bytes,
			     .straddles = lines->straddles,
			     .empty = lines->empty };
	uint32_t i;
	int ret = 0;

	if (!t)
		s->failed = -ENOMEM;
	else if (!is_simple(s) || lines->shift != s->line_shift[0])
		s->failed = -EINVAL;
	if (s->failed)
		return s->failed;
	memcpy(x.accesses, lines->accesses, sizeof(x.accesses));
	memcpy(x.lines, lines->lines, sizeof(x.lines));
	for (i = 0; ret == 0 && (i == 0 || i < lines->nr); i += LRU_CHUNK) {
		struct run_input in = {
			.key = lines->key + i,
			.nr = lines->nr - i < LRU_CHUNK ? lines->nr - i : LRU_CHUNK,
		};

		ret = run_input(s, t, &in, &x);
		x = (struct lru_run){ 0 };
	}
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
	if (is_simple(s)) {
		for (i = 0; ret == 0 && i < nr; i += LRU_CHUNK) {
			struct run_input in = {
				.access = access + i,
				.nr = nr - i < LRU_CHUNK ? nr - i : LRU_CHUNK,
			};
			struct lru_run x = { 0 };

			ret = run_input(s, t, &in, &x);
		}
		return ret;
	}
	ret = sim_settle(s);
	for (i = 0; ret == 0 && i < nr; i++)
		ret = sim_access_of(s, t, access[i].address, access[i].size, access[i].is_write,
				    NULL);
	return ret;
}

/* ---- outcomes ------------------------------------------------------------------ */

void sim_outcome_of_hit(const struct sim_config *config, uint64_t address, uint32_t size,
			struct sim_outcome *out)
{
	uint32_t shift = (uint32_t)__builtin_ctz(config->level[0].line);
	uint64_t last = address + size - 1;

	memset(out, 0, sizeof(*out));
	out->lost_to = SIM_NOBODY;
	if (!size)
		return;
	last = (last < address ? UINT64_MAX : last) >> shift;
	out->first_line = address >> shift;
	out->nr_lines = (uint32_t)(last - out->first_line) + 1;
	out->level[0].hits = (uint16_t)out->nr_lines;
}

const struct sim_outcome *sim_outcome_of_missed(const struct sim *s,
						const struct mem_access *access,
						const struct sim_missed *missed,
						struct sim_outcome *room)
{
	const struct mem_access *a = &access[missed->index];
	uint32_t k;

	if (missed->outcome)
		return &s->outcomes[missed->outcome - 1];
	sim_outcome_of_hit(&s->config, a->address, a->size, room);
	room->level[0].hits = 0;
	room->missed_first = 1;
	for (k = 0; k < missed->depth; k++) {
		room->level[k].misses = 1;
		if (!s->config.no_classes)
			room->level[k].by_class[missed->classes >> 2 * k & 3] = 1;
	}
	room->served = (uint8_t)k;
	if (k < s->nr_levels)
		room->level[k].hits = 1;
	else
		room->missed_all = room->fetched = 1;
	return room;
}

/* The outcome of an access to several lines, of which any may have missed. */
static struct sim_outcome *run_outcome(struct sim *s, const struct mem_access *access,
				       uint32_t index, struct sim_missed *list, size_t *nr_list)
{
	struct sim_missed *m = &list[*nr_list];
	struct sim_outcome *out;

	if (*nr_list && m[-1].index == index)
		return &s->outcomes[m[-1].outcome - 1];
	out = &s->outcomes[*nr_list];
	*nr_list += 1;
	*m = (struct sim_missed){ .index = index, .outcome = (uint32_t)*nr_list };
	sim_outcome_of_hit(&s->config, access[index].address, access[index].size, out);
	return out;
}

/* Add a line that missed to the outcome of its access. */
static void run_add_line(const struct sim *s, struct sim_outcome *out, uint64_t line,
			 uint32_t depth, uint32_t classes)
{
	uint64_t bit = UINT64_C(1) << (line - out->first_line);
	uint32_t k;

	out->missed_first |= bit;
	out->level[0].hits--;
	for (k = 0; k < depth; k++) {
		out->level[k].misses++;
		if (!s->config.no_classes)
			out->level[k].by_class[classes >> 2 * k & 3]++;
	}
	out->served = (uint8_t)(k > out->served ? k : out->served);
	if (k < s->nr_levels) {
		out->level[k].hits++;
	} else {
		out->missed_all |= bit;
		out->fetched++;
	}
}

/* The misses that *@x noted. */
static void run_tell(struct sim *s, const struct lru_run *x, const struct mem_access *access,
		     struct sim_missed *list, size_t *nr_list)
{
	uint64_t inside = s->config.level[0].line - 1, use;
	uint32_t at[SIM_LEVELS_MAX] = { 0 }, nr_levels = s->nr_levels, i, k, classes;

	for (i = 0; i < x->nr_missed; i++) {
		uint32_t index = x->missed[i];
		const struct mem_access *a = &access[index];
		struct sim_missed *m = &list[*nr_list];
		uint64_t line;

		while (!((use = x->uses[0][at[0]++]) & USE_MISS))
			;
		line = SLOT_LINE(use);
		classes = USE_CLASS(use);
		for (k = 1; k < nr_levels && (use = x->uses[k][at[k]++]) & USE_MISS; k++)
			classes |= (uint32_t)USE_CLASS(use) << 2 * k;
		if (a->size - UINT64_C(1) > (~a->address & inside)) {
			run_add_line(s, run_outcome(s, access, index, list, nr_list), line, k,
				     classes);
			continue;
		}
		m->index = index;
		m->outcome = 0;
		m->depth = (uint16_t)k;
		m->classes = (uint16_t)classes;
		++*nr_list;
	}
}

static int run_generally(struct sim *s, struct thread *t, const struct mem_access *access,
			 size_t nr, struct sim_missed *list, size_t *nr_list)
{
	size_t i;
	int ret = 0;

	for (i = 0; ret == 0 && i < nr; i++) {
		struct sim_outcome *out = &s->outcomes[*nr_list];

		memset(out, 0, sizeof(*out));
		out->lost_to = SIM_NOBODY;
		ret = sim_access_of(s, t, access[i].address, access[i].size, access[i].is_write,
				    out);
		list[*nr_list] = (struct sim_missed){ .index = (uint32_t)i,
						      .outcome = (uint32_t)*nr_list + 1 };
		*nr_list += out->served || out->invalidated || out->level[0].misses ||
			    out->from_peer || out->fetched || out->tlb_misses[0];
	}
	return ret;
}

int sim_run_missed(struct sim *s, uint32_t thread, const struct mem_access *access, size_t nr,
		   struct sim_missed *list, size_t *nr_list)
{
	struct thread *t = sim_thread_of(s, thread);
	struct lru_run x = { .notes = true };
	int ret;

	*nr_list = 0;
	if (!s->missed)
		s->missed = malloc((size_t)LRU_USES * sizeof(*s->missed));
	if (!s->outcomes)
		s->outcomes = malloc(SIM_MISSED_MAX * sizeof(*s->outcomes));
	if (!t || !s->missed || !s->outcomes)
		s->failed = -ENOMEM;
	if (sim_settle(s) < 0)
		return s->failed;
	if (!is_simple(s))
		return run_generally(s, t, access, nr, list, nr_list);
	x.missed = s->missed;
	ret = run_simple(s, t, &(struct run_input){ .access = access, .nr = nr }, &x);
	if (ret == 0)
		run_tell(s, &x, access, list, nr_list);
	return ret;
}

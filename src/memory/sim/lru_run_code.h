/* SPDX-License-Identifier: MIT */
/*
 * lru_run_code.h - the algorithm of lru_run.h, included once per instruction set.
 *
 * The file that includes it defines
 *	LRU_LANES                    slots of a vector
 *	LRU_TAILS                    1: vectors with fewer slots can be loaded and stored
 *	lru_vector                   the type
 *	LRU_LOAD(at, nr)             slots that are not loaded are 0
 *	LRU_STORE(at, nr, v)
 *	LRU_EQUAL(v, all)            a bit per slot that is twice the value in @all, or one more
 *	LRU_ALL(value)
 *	LRU_SHIFT(v, before, lanes)  v with those of its first slots that are in @lanes moved by
 *	                             one; the last slot of @before becomes the first
 * for LRU_LANES > 1.
 */
#include "memory/sim/lru_run.h"

#define LRU_AHEAD    16 /* accesses: distance at which the second level's set is prefetched */
#define LRU_NEVER(x) __builtin_expect(!!(x), 0)
#define LRU_INLINE   static inline __attribute__((always_inline))

/* ---- one set --------------------------------------------------------------- */

LRU_INLINE bool lru_use_slots(uint64_t *set, uint32_t ways, uint64_t value, uint64_t *victim)
{
	uint64_t want = value & ~SLOT_DIRTY, next = value, was;
	uint32_t i;

	for (i = 0; i < ways; i++) {
		was = set[i];
		set[i] = next;
		if ((was & ~SLOT_DIRTY) == want) {
			set[0] |= was;
			return true;
		}
		next = was;
	}
	*victim = next;
	return false;
}

#if LRU_LANES > 1
/* @value is SLOT_OF(line), dirty or not.  Returns true for a hit; else *@victim is set. */
LRU_INLINE bool lru_use_vectors(uint64_t *set, const uint32_t ways, uint64_t value,
				uint64_t *victim)
{
	lru_vector v[CACHE_WAYS_MAX / LRU_LANES], before, want = LRU_ALL(value >> 1);
	uint64_t found = 0, moves, was;
	uint32_t i;

#pragma GCC unroll 8
	for (i = 0; i < ways && i < CACHE_WAYS_MAX; i += LRU_LANES) {
		v[i / LRU_LANES] = LRU_LOAD(set + i, ways - i < LRU_LANES ? ways - i : LRU_LANES);
		found |= (uint64_t)LRU_EQUAL(v[i / LRU_LANES], want) << i;
	}
	moves = found ^ (found - 1); /* all slots up to the line; after a miss, all */
	was = set[__builtin_ctzll(found | UINT64_C(1) << (ways - 1))]; /* the line or the victim */
	*victim = was;
	before = LRU_ALL(value | (found ? was : 0));
#pragma GCC unroll 8
	for (i = 0; i < ways && i < CACHE_WAYS_MAX; i += LRU_LANES) {
		LRU_STORE(set + i, ways - i < LRU_LANES ? ways - i : LRU_LANES,
			  LRU_SHIFT(v[i / LRU_LANES], before,
				    (uint32_t)(moves >> i) & ((1u << LRU_LANES) - 1)));
		before = v[i / LRU_LANES];
	}
	return found;
}
#endif

LRU_INLINE bool lru_use_set(uint64_t *set, uint32_t ways, uint64_t value, uint64_t *victim)
{
#if LRU_LANES > 1
	if (ways == 8)
		return lru_use_vectors(set, 8, value, victim);
	if (ways == 16)
		return lru_use_vectors(set, 16, value, victim);
	if (ways > 2 && (LRU_TAILS || ways % LRU_LANES == 0))
		return lru_use_vectors(set, ways, value, victim);
#endif
	return lru_use_slots(set, ways, value, victim);
}

/* ---- a level --------------------------------------------------------------- */

/* Look up, and insert after a miss: then *@victim is the slot that was evicted, or 0. */
LRU_INLINE bool lru_use_level(struct cache *c, uint64_t line, uint64_t *victim)
{
	uint64_t *slot;

	if (!c->is_pool && c->policy == SIM_LRU)
		return lru_use_set(cache_set(c, line), c->ways, SLOT_OF(line), victim);
	slot = cache_find(c, line);
	if (slot)
		cache_use(c, slot);
	else
		cache_insert(c, SLOT_OF(line), victim);
	return slot;
}

/* A line that was evicted from level @k. */
static void lru_evict(struct lru_run *x, uint32_t k, uint64_t value)
{
	uint64_t line = SLOT_LINE(value) << x->path[k]->shift;

	x->evictions[k]++;
	if (!(value & SLOT_DIRTY))
		return;
	x->write_backs[k]++;
	for (k++; k < x->nr_levels; k++) {
		uint64_t *slot = cache_find(x->path[k], line >> x->path[k]->shift);

		if (slot) {
			*slot |= SLOT_DIRTY;
			return;
		}
	}
	x->memory_writes++;
}

LRU_INLINE void lru_note(struct lru_run *x, uint32_t k, uint64_t line, uint64_t bits)
{
	if (x->notes)
		x->uses[k][x->nr_uses[k]++] = SLOT_OF(line) | bits;
}

/* The first level missed @line, and has inserted it already. */
static void lru_miss(struct lru_run *x, uint64_t line, bool is_write, uint64_t victim)
{
	uint64_t victims[SIM_LEVELS_MAX], address = line << x->path[0]->shift;
	uint32_t k;

	victims[0] = victim;
	x->misses[0][is_write]++;
	for (k = 1; k < x->nr_levels; k++) {
		struct cache *c = x->path[k];
		bool hit = lru_use_level(c, address >> c->shift, &victims[k]);

		lru_note(x, k, address >> c->shift,
			 (is_write ? USE_WRITE : 0) | (hit ? 0 : USE_MISS));
		if (hit) {
			x->hits[k][is_write]++;
			break;
		}
		x->misses[k][is_write]++;
	}
	x->memory_reads += k == x->nr_levels;
	while (k-- > 0) {
		if (victims[k])
			lru_evict(x, k, victims[k]);
	}
}

/* ---- accesses -------------------------------------------------------------- */

/* What the loop reads at every access. */
struct lru_first {
	uint64_t *slots;
	uint64_t mask;
	uint32_t ways;
	uint8_t shift;
	bool power_of_two;
	struct cache *cache;
};

LRU_INLINE void lru_use_line(struct lru_run *x, const struct lru_first *f, uint64_t line,
			     uint64_t is_write, const bool notes, size_t index)
{
	uint64_t number = f->power_of_two ? line & f->mask : line % f->cache->nr_sets;
	uint64_t *set = f->slots + number * f->ways, want = SLOT_OF(line), front = *set, victim;

	if ((front & ~SLOT_DIRTY) == want) {
		if (is_write & ~front)
			*set = front | SLOT_DIRTY;
		if (notes &&
		    (!x->nr_uses[0] || (x->uses[0][x->nr_uses[0] - 1] & ~SLOT_FLAGS) != want))
			lru_note(x, 0, line, is_write);
		return;
	}
	if (lru_use_set(set, f->ways, want | is_write, &victim)) {
		if (notes)
			lru_note(x, 0, line, is_write);
		return;
	}
	if (notes)
		lru_note(x, 0, line, is_write | USE_MISS);
	if (notes && x->missed)
		x->missed[x->nr_missed++] = (uint32_t)index;
	lru_miss(x, line, is_write, victim);
}

/* An access of no line, or of several lines. */
static void lru_use_lines(struct lru_run *x, const struct lru_first *f, const struct mem_access *a,
			  size_t index)
{
	uint64_t line = a->address >> f->shift, last = a->address + a->size - 1;

	if (!a->size) {
		x->empty++;
		return;
	}
	last = (last < a->address ? UINT64_MAX : last) >> f->shift;
	x->straddles += last != line;
	for (; line <= last; line++) {
		x->lines[a->is_write]++;
		lru_use_line(x, f, line, a->is_write, x->notes, index);
	}
}

LRU_INLINE void lru_fetch_ahead(const struct cache *c, const struct mem_access *a)
{
	const uint64_t *set = c->slots + ((a[LRU_AHEAD].address >> c->shift) & c->mask) * c->ways;

	__builtin_prefetch(set);
	if (c->ways > 8)
		__builtin_prefetch(set + 8);
}

/* Accesses from @from to before @to; @ahead: those LRU_AHEAD after them exist. */
LRU_INLINE void lru_run_part(struct lru_run *x, const struct lru_first f,
			     const struct mem_access *access, size_t from, size_t to,
			     const bool notes, const bool ahead)
{
	uint64_t bytes = 0, writes = 0, others = 0, other_writes = 0;
	size_t i;

	for (i = from; i < to; i++) {
		const struct mem_access *a = &access[i];
		uint64_t line = a->address >> f.shift, is_write = a->is_write, size = a->size;

		if (ahead)
			lru_fetch_ahead(x->path[1], a);
		bytes += size;
		writes += is_write;
		if (LRU_NEVER(!size || (a->address + size - 1) >> f.shift != line)) {
			others++;
			other_writes += is_write;
			lru_use_lines(x, &f, a, i);
			continue;
		}
		lru_use_line(x, &f, line, is_write, notes, i);
	}
	x->bytes += bytes;
	x->accesses[SIM_WRITES] += writes;
	x->accesses[SIM_READS] += to - from - writes;
	x->lines[SIM_WRITES] += writes - other_writes;
	x->lines[SIM_READS] += to - from - writes - (others - other_writes);
}

LRU_INLINE void lru_run_all(struct lru_run *x, const struct lru_first f,
			    const struct mem_access *access, size_t nr, const bool notes)
{
	size_t ahead = x->ahead && nr > LRU_AHEAD ? nr - LRU_AHEAD : 0;

	if (ahead)
		lru_run_part(x, f, access, 0, ahead, notes, true);
	lru_run_part(x, f, access, ahead, nr, notes, false);
}

static void lru_run_chunk(struct lru_run *x, const struct mem_access *access, size_t nr)
{
	struct cache *c = x->path[0];
	struct lru_first f = { c->slots, c->mask, c->ways, c->shift, c->power_of_two, c };

	if (f.ways == 8 && f.power_of_two) {
		/* Constants for the compiler: the most common first level. */
		f.ways = 8;
		f.power_of_two = true;
		if (x->notes)
			lru_run_all(x, f, access, nr, true);
		else
			lru_run_all(x, f, access, nr, false);
	} else {
		lru_run_all(x, f, access, nr, x->notes);
	}
}

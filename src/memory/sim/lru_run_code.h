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
 * for LRU_LANES > 1; and, if it can do better for sets of that many ways,
 *	LRU_USE_8(set, value, victim), LRU_USE_16(set, value, victim)
 * and, if it can do so for several keys at a time,
 *	LRU_FILTER(key, nr, sets, notes, out)  see lru_run_first_keys(); returns how many keys
 *	                             remain.  @sets: bits of a key, at least one differs if the
 *	                             sets do; 0: unknown.  @out has room for LRU_FILTER_MORE more
 */
#include "memory/sim/lru_run.h"

#define LRU_AHEAD       12 /* requests: distance at which a set is prefetched */
#define LRU_FILTER_MORE 8u
#define LRU_NEVER(x)    __builtin_expect(!!(x), 0)
#define LRU_INLINE      static inline __attribute__((always_inline))

/* ---- one set --------------------------------------------------------------- */

/*
 * lru_use_...(): look up the line of @value, which is SLOT_OF(line), dirty or not.  Returns 0 for a
 * hit; 1 for a miss: then the line is inserted, and *@victim is the slot that was evicted.
 */
LRU_INLINE uint64_t lru_use_slots(uint64_t *set, uint32_t ways, uint64_t value, uint64_t *victim)
{
	uint64_t want = value & ~SLOT_DIRTY, next = value, was;
	uint32_t i;

	for (i = 0; i < ways; i++) {
		was = set[i];
		set[i] = next;
		if ((was & ~SLOT_DIRTY) == want) {
			set[0] |= was;
			return 0;
		}
		next = was;
	}
	*victim = next;
	return 1;
}

#if LRU_LANES > 1
LRU_INLINE uint64_t lru_use_vectors(uint64_t *set, const uint32_t ways, uint64_t value,
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
	return !found;
}
#endif

LRU_INLINE uint64_t lru_use_set(uint64_t *set, uint32_t ways, uint64_t value, uint64_t *victim)
{
#ifdef LRU_USE_8
	if (ways == 8)
		return LRU_USE_8(set, value, victim);
	if (ways == 16)
		return LRU_USE_16(set, value, victim);
#endif
#if LRU_LANES > 1
	if (ways == 8)
		return lru_use_vectors(set, 8, value, victim);
	if (ways == 12 && (LRU_TAILS || 12 % LRU_LANES == 0))
		return lru_use_vectors(set, 12, value, victim);
	if (ways == 16)
		return lru_use_vectors(set, 16, value, victim);
	if (ways > 2 && (LRU_TAILS || ways % LRU_LANES == 0))
		return lru_use_vectors(set, ways, value, victim);
#endif
	return lru_use_slots(set, ways, value, victim);
}

/* The slot of a set that holds the line of @value, which is not dirty; NULL: none. */
LRU_INLINE uint64_t *lru_find_slot(uint64_t *set, const uint32_t ways, uint64_t value)
{
#if LRU_LANES > 1
	lru_vector want = LRU_ALL(value >> 1);
	uint64_t found = 0;
	uint32_t i;

#pragma GCC unroll 8
	for (i = 0; i < ways; i += LRU_LANES)
		found |= (uint64_t)LRU_EQUAL(LRU_LOAD(set + i, LRU_LANES), want) << i;
	return found ? set + __builtin_ctzll(found) : NULL;
#else
	uint32_t i;

	for (i = 0; i < ways; i++) {
		if ((set[i] & ~SLOT_DIRTY) == value)
			return set + i;
	}
	return NULL;
#endif
}

/* ---- requests to the next level ---------------------------------------------- */

/* Local variables for the requests to a level: where the next one is stored. */
struct lru_asked {
	uint64_t *next;
	uint64_t fresh; /* misses without a victim */
};

/*
 * If @missed is 1: ask the next level for @request, then write @victim back if it is dirty.  No
 * branch depends on it: whether an access misses is hard to predict.
 */
LRU_INLINE void lru_ask(struct lru_asked *a, uint64_t missed, uint64_t request, uint64_t victim,
			uint32_t shift)
{
	uint64_t dirty = missed & victim & SLOT_DIRTY;

	*a->next = request;
	a->next += missed;
	/* Of a dirty victim; a clean one is not kept. */
	*a->next = (victim - SLOT_OF(UINT64_C(0)) - SLOT_DIRTY) << (shift - 4) | LRU_WRITE_BACK;
	a->next += dirty;
	if (LRU_NEVER(!victim)) {
		__asm__ volatile(""); /* a branch: caches are full most of the time */
		a->fresh += missed;
	}
}

LRU_INLINE void lru_end_asking(struct lru_run *x, uint32_t k, const struct lru_asked *a)
{
	x->nr_requests[k + 1] = (uint32_t)(a->next - x->requests[k + 1]);
	x->fresh[k] = a->fresh;
}

LRU_INLINE void lru_note(struct lru_run *x, uint32_t k, uint64_t line, uint64_t bits)
{
	x->uses[k][x->nr_uses[k]++] = SLOT_OF(line) | bits;
}

/* ---- levels after the first -------------------------------------------------- */

LRU_INLINE uint64_t lru_use_level(struct cache *c, uint64_t line, uint64_t *victim)
{
	uint64_t *slot;

	if (!c->is_pool && c->policy == SIM_LRU)
		return lru_use_set(cache_set(c, line), c->ways, SLOT_OF(line), victim);
	slot = cache_find(c, line);
	if (slot)
		cache_use(c, slot);
	else
		cache_insert(c, SLOT_OF(line), victim);
	return !slot;
}

/* A dirty line comes from a level above: if this level does not hold it, the next one gets it. */
LRU_INLINE uint64_t *lru_write_back(const struct cache *c, uint64_t request, uint64_t *next,
				    const uint32_t ways)
{
	uint64_t line = request >> c->shift;
	uint64_t *slot = ways ? lru_find_slot(c->slots + (line & c->mask) * ways, ways,
					      SLOT_OF(line))
			      : cache_find(c, line);

	if (slot)
		*slot |= SLOT_DIRTY;
	else
		*next++ = request;
	return next;
}

/* The same in an LRU set whose first line is probably the one. */
LRU_INLINE uint64_t lru_use_ordered(uint64_t *set, const uint32_t ways, uint64_t value,
				    uint64_t *victim)
{
	return (*set & ~SLOT_DIRTY) == value ? 0 : lru_use_set(set, ways, value, victim);
}

LRU_INLINE void lru_fetch_set(const uint64_t *set, const uint32_t ways)
{
	__builtin_prefetch(set, 1);
	if (ways > 8)
		__builtin_prefetch(set + 8, 1);
}

/* @ways: 0: any cache; else an LRU cache of that many, and a number of sets that is a power of 2.
 */
LRU_INLINE void lru_run_level(struct lru_run *x, uint32_t k, const uint32_t ways, const bool notes)
{
	struct cache *c = x->path[k];
	const uint64_t *requests = x->requests[k];
	struct lru_asked asked = { x->requests[k + 1], 0 };
	uint64_t returned = 0, writes = 0, mask = c->mask, *slots = c->slots, *was;
	uint32_t i, nr = x->nr_requests[k], shift = c->shift;

	for (i = 0; i < nr; i++) {
		uint64_t request = requests[i], line = request >> shift, victim = 0, missed;
		uint64_t later = requests[i + LRU_AHEAD < nr ? i + LRU_AHEAD : i] >> shift;

		if (ways)
			lru_fetch_set(slots + (later & mask) * ways, ways);
		if (request & LRU_WRITE_BACK) {
			was = asked.next;
			asked.next = lru_write_back(c, request, was, ways);
			returned++;
			x->passed[k] += (uint64_t)(asked.next - was);
			continue;
		}
		if (ways)
			missed = lru_use_ordered(slots + (line & mask) * ways, ways, SLOT_OF(line),
						 &victim);
		else
			missed = lru_use_level(c, line, &victim);
		writes += request & USE_WRITE;
		if (notes)
			lru_note(x, k, line, (request & USE_WRITE) | missed * USE_MISS);
		lru_ask(&asked, missed, request, victim, shift);
	}
	x->returned[k] = returned;
	x->lookups[k][SIM_WRITES] = writes;
	x->lookups[k][SIM_READS] = nr - returned - writes;
	lru_end_asking(x, k, &asked);
}

LRU_INLINE void lru_run_any_level(struct lru_run *x, uint32_t k, const bool notes)
{
	const struct cache *c = x->path[k];
	bool sets = !c->is_pool && c->policy == SIM_LRU && c->power_of_two;

	if (sets && c->ways == 8)
		lru_run_level(x, k, 8, notes);
	else if (sets && c->ways == 16)
		lru_run_level(x, k, 16, notes);
	else
		lru_run_level(x, k, 0, notes);
}

/* Count what memory is asked for. */
LRU_INLINE void lru_run_memory(struct lru_run *x, uint32_t k)
{
	const uint64_t *requests = x->requests[k];
	uint64_t returned = 0, writes = 0;
	uint32_t i, nr = x->nr_requests[k];

	for (i = 0; i < nr; i++) {
		returned += requests[i] / LRU_WRITE_BACK & 1;
		writes += requests[i] & USE_WRITE;
	}
	x->returned[k] = returned;
	x->lookups[k][SIM_WRITES] = writes;
	x->lookups[k][SIM_READS] = nr - returned - writes;
}

static void lru_run_levels(struct lru_run *x)
{
	uint32_t k;

	for (k = 1; k < x->nr_levels; k++) {
		if (x->notes)
			lru_run_any_level(x, k, true);
		else
			lru_run_any_level(x, k, false);
	}
	lru_run_memory(x, k);
}

/* ---- the first level --------------------------------------------------------- */

/* What is looked up in the first level, and where its requests, uses and misses go. */
struct lru_first {
	struct cache *cache;
	struct lru_asked asked;
	uint64_t *noted;  /* the next use */
	uint64_t last;    /* the line that was noted last, as SLOT_OF(); 0: none */
	uint32_t *missed; /* the next miss */
};

/* What is noted of the uses of the first level. */
enum lru_notes {
	LRU_NO_NOTES,
	LRU_USE_NOTES,  /* the uses */
	LRU_MISS_NOTES, /* and the accesses that missed */
};

LRU_INLINE enum lru_notes lru_notes_of(const struct lru_run *x)
{
	return !x->notes ? LRU_NO_NOTES : x->missed ? LRU_MISS_NOTES : LRU_USE_NOTES;
}

LRU_INLINE struct lru_first lru_begin_first(const struct lru_run *x)
{
	uint64_t *noted = x->uses[0] ? x->uses[0] + x->nr_uses[0] : NULL;

	return (struct lru_first){
		.cache = x->path[0],
		.asked = { x->requests[1], 0 },
		.noted = noted,
		.last = x->nr_uses[0] ? noted[-1] & ~SLOT_FLAGS : 0,
		.missed = x->missed ? x->missed + x->nr_missed : NULL,
	};
}

LRU_INLINE void lru_end_first(struct lru_run *x, const struct lru_first *f)
{
	if (x->notes)
		x->nr_uses[0] = (uint32_t)(f->noted - x->uses[0]);
	if (x->missed)
		x->nr_missed = (uint32_t)(f->missed - x->missed);
	lru_end_asking(x, 0, &f->asked);
}

/* @ways: 8 or 12, and a number of sets that is a power of two; 0: any. */
LRU_INLINE uint64_t *lru_first_set(const struct cache *c, uint64_t key, const uint32_t ways)
{
	uint64_t from_first = key - SLOT_OF(UINT64_C(0));

	if (ways == 8) /* a set has 64 bytes: fewer instructions */
		return (uint64_t *)(void *)((char *)c->slots + (from_first << 2 & c->mask << 6));
	return ways ? c->slots + (from_first >> 4 & c->mask) * ways : cache_set(c, from_first >> 4);
}

/* @key: SLOT_OF(line), and USE_WRITE. */
LRU_INLINE void lru_use_key(struct lru_first *f, uint64_t key, size_t index, const uint32_t ways,
			    const enum lru_notes notes)
{
	uint64_t *set = lru_first_set(f->cache, key, ways), front = *set, victim = 0, missed;

	if ((front ^ key) <= SLOT_DIRTY) {
		if (LRU_NEVER(key > front))
			*set = key;
		if (notes) { /* without a branch: a read is often followed by a write */
			*f->noted = key;
			f->noted += f->last != (key & ~USE_WRITE);
			f->last = key & ~USE_WRITE;
		}
		return;
	}
	missed = lru_use_set(set, ways ? ways : f->cache->ways, key, &victim);
	if (notes) {
		*f->noted++ = key | missed * USE_MISS;
		f->last = key & ~USE_WRITE;
	}
	if (notes == LRU_MISS_NOTES) {
		*f->missed = (uint32_t)index;
		f->missed += missed;
	}
	lru_ask(&f->asked, missed, SLOT_LINE(key) << f->cache->shift | (key & USE_WRITE), victim,
		f->cache->shift);
}

/* An access of no line, or of several lines. */
static void lru_use_lines(struct lru_run *x, struct lru_first *f, const struct mem_access *a,
			  size_t index)
{
	uint64_t line = a->address >> f->cache->shift, last = a->address + a->size - 1;

	x->accesses[a->is_write]++;
	x->bytes += a->size;
	if (!a->size) {
		x->empty++;
		return;
	}
	last = (last < a->address ? UINT64_MAX : last) >> f->cache->shift;
	x->straddles += last != line;
	for (; line <= last; line++) {
		x->lines[a->is_write]++;
		lru_use_key(f, SLOT_OF(line) | a->is_write, index, 0, lru_notes_of(x));
	}
}

/* A copy in local variables: the compiler knows that nothing changes it. */
LRU_INLINE struct cache lru_local_cache(const struct cache *c)
{
	return (struct cache){ .slots = c->slots,
			       .mask = c->mask,
			       .nr_sets = c->nr_sets,
			       .ways = c->ways,
			       .shift = c->shift,
			       .power_of_two = c->power_of_two };
}

/* Accesses of one line each, from @from on.  Returns the first that is not so, or @nr. */
LRU_INLINE size_t lru_run_part(struct lru_run *x, struct lru_first *first,
			       const struct mem_access *access, size_t from, size_t nr,
			       const uint32_t ways, const enum lru_notes notes)
{
	struct cache cache = lru_local_cache(first->cache);
	struct lru_first f = *first;
	uint64_t bytes = 0, writes = 0;
	size_t i;

	f.cache = &cache;
	for (i = from; i < nr; i++) {
		const struct mem_access *a = &access[i];
		uint64_t line = a->address >> cache.shift, is_write = a->is_write, size = a->size;

		if (LRU_NEVER(!size || (a->address + size - 1) >> cache.shift != line))
			break;
		bytes += size;
		writes += is_write;
		lru_use_key(&f, SLOT_OF(line) | is_write, i, ways, notes);
	}
	f.cache = first->cache;
	*first = f;
	x->bytes += bytes;
	x->accesses[SIM_WRITES] += writes;
	x->lines[SIM_WRITES] += writes;
	x->accesses[SIM_READS] += i - from - writes;
	x->lines[SIM_READS] += i - from - writes;
	return i;
}

LRU_INLINE void lru_run_first(struct lru_run *x, const struct mem_access *access, size_t nr,
			      const uint32_t ways, const enum lru_notes notes)
{
	struct lru_first f = lru_begin_first(x);
	size_t i = 0;

	for (;;) {
		i = lru_run_part(x, &f, access, i, nr, ways, notes);
		if (i == nr)
			break;
		lru_use_lines(x, &f, &access[i], i);
		i++;
	}
	lru_end_first(x, &f);
}

/* Constants for the compiler. */
LRU_INLINE void lru_run_first_notes(struct lru_run *x, const struct mem_access *access, size_t nr,
				    const uint32_t ways)
{
	if (x->notes && x->missed)
		lru_run_first(x, access, nr, ways, LRU_MISS_NOTES);
	else if (x->notes)
		lru_run_first(x, access, nr, ways, LRU_USE_NOTES);
	else
		lru_run_first(x, access, nr, ways, LRU_NO_NOTES);
}

static void lru_run_chunk(struct lru_run *x, const struct mem_access *access, size_t nr)
{
	const struct cache *c = x->path[0];

	/* The most common first levels. */
	if (c->ways == 8 && c->power_of_two)
		lru_run_first_notes(x, access, nr, 8);
	else if (c->ways == 12 && c->power_of_two)
		lru_run_first_notes(x, access, nr, 12);
	else
		lru_run_first_notes(x, access, nr, 0);
	lru_run_levels(x);
}

/* ---- keys -------------------------------------------------------------------- */

/* NOLINTNEXTLINE(misc-redundant-expression): two names that must stay equal */
_Static_assert(MEM_KEY_OF(5) == SLOT_OF(5) && MEM_KEY_WRITE == USE_WRITE, "keys are slots");

/*
 * Keys that may change the first level.  Left out is one whose line is known to be in front of its
 * set, and dirty if the access writes: the key before is the same; or the one before that is, and
 * the one in between is of another set.
 *
 * With notes, the order of uses counts too, for the classes of misses.  A use that repeats the last
 * one changes nothing in it.  Nor does one before and after which the same line is used, with one
 * other use in between: the line is held, and the later use makes it the newest.  So that it is not
 * the oldest line meanwhile, the first two of LRU_FILTER_NOTES keys are always kept, and a cache
 * has more than twice as many lines.
 */
LRU_INLINE void lru_run_first_keys(struct lru_run *x, const uint64_t *key, uint32_t nr,
				   const uint32_t ways, const enum lru_notes notes)
{
	struct lru_first f = lru_begin_first(x);
	struct cache cache = lru_local_cache(x->path[0]);
	uint32_t i;
#ifdef LRU_FILTER
	_Alignas(64) uint64_t list[LRU_CHUNK + LRU_FILTER_MORE];

	bool known = cache.power_of_two &&
		     (!notes || cache.nr_sets * cache.ways > UINT64_C(2) * LRU_FILTER_NOTES);

	nr = LRU_FILTER(key, nr, known ? cache.mask << 4 : 0, notes != LRU_NO_NOTES, list);
	key = list;
#endif

	f.cache = &cache;
	for (i = 0; i < nr; i++)
		lru_use_key(&f, key[i], 0, ways, notes);
	lru_end_first(x, &f);
}

LRU_INLINE void lru_run_first_keys_notes(struct lru_run *x, const uint64_t *key, uint32_t nr,
					 const uint32_t ways)
{
	if (x->notes)
		lru_run_first_keys(x, key, nr, ways, LRU_USE_NOTES);
	else
		lru_run_first_keys(x, key, nr, ways, LRU_NO_NOTES);
}

static void lru_run_key_chunk(struct lru_run *x, const uint64_t *key, size_t nr)
{
	const struct cache *c = x->path[0];

	if (c->ways == 8 && c->power_of_two)
		lru_run_first_keys_notes(x, key, (uint32_t)nr, 8);
	else if (c->ways == 12 && c->power_of_two)
		lru_run_first_keys_notes(x, key, (uint32_t)nr, 12);
	else
		lru_run_first_keys_notes(x, key, (uint32_t)nr, 0);
	lru_run_levels(x);
}

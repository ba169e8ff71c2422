/* SPDX-License-Identifier: MIT */
/* reuse_distance.c - statistics per cache line: uses, threads, reuse distances. */
#include "memory/stat/reuse_distance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FIRST_LINES 1024u
#define NO_SLOT     UINT32_MAX

static uint64_t lines_hash(const struct reuse_lines *l, uint64_t line)
{
	uint64_t h = (line ^ l->seed) * UINT64_C(0x9E3779B97F4A7C15);

	h ^= h >> 29;
	h *= UINT64_C(0xBF58476D1CE4E5B9);
	return h ^ h >> 32;
}

/* The sample does not depend on the random seed: two runs give the same result. */
static bool is_sampled(const struct reuse_lines *l, uint64_t line)
{
	uint64_t h = line * UINT64_C(0xD1B54A32D192ED03);

	h ^= h >> 31;
	h *= UINT64_C(0x94D049BB133111EB);
	return (h >> 32) < (UINT64_C(1) << 32) / l->one_in;
}

/* ---- the order of last uses ------------------------------------------------ */

#define SUM_SLOTS 512u /* of a sum */
#define SUM_SUMS  64u  /* of these, in a sum of sums */

static uint32_t order_nr_sums(const struct reuse_lines *l)
{
	return (l->nr_slots + SUM_SLOTS - 1) / SUM_SLOTS;
}

/* The sums of sums follow the sums. */
static uint32_t *order_tops(const struct reuse_lines *l)
{
	return l->sums + order_nr_sums(l);
}

/* Each bit counts: the instruction for it is not in every processor. */
static uint64_t order_count_bits(uint64_t x)
{
	x -= x >> 1 & UINT64_C(0x5555555555555555);
	x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
	x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return x * UINT64_C(0x0101010101010101) >> 56;
}

static void order_change(struct reuse_lines *l, uint32_t slot, uint32_t by)
{
	l->bits[slot / 64] ^= UINT64_C(1) << slot % 64;
	l->sums[slot / SUM_SLOTS] += by; /* adding ~0 subtracts 1 */
	order_tops(l)[slot / SUM_SLOTS / SUM_SUMS] += by;
}

static uint64_t order_add_up(const uint32_t *sums, uint32_t from, uint32_t to)
{
	uint64_t sum = 0;

	for (; from < to; from++)
		sum += sums[from];
	return sum;
}

/* Number of last uses in the slots after @slot. */
static uint64_t order_behind(const struct reuse_lines *l, uint32_t slot)
{
	uint32_t word = slot / 64, sum = slot / SUM_SLOTS, top = sum / SUM_SUMS;
	uint32_t words = (l->now + 63) / 64, sums = (l->now + SUM_SLOTS - 1) / SUM_SLOTS;
	uint32_t end = (sum + 1) * (SUM_SLOTS / 64), tops = sums / SUM_SUMS + 1;
	uint64_t behind = order_count_bits(l->bits[word] >> slot % 64 >> 1);

	for (word++; word < end && word < words; word++)
		behind += order_count_bits(l->bits[word]);
	end = (top + 1) * SUM_SUMS;
	behind += order_add_up(l->sums, sum + 1, end < sums ? end : sums);
	return behind + (end < sums ? order_add_up(order_tops(l), top + 1, tops) : 0);
}

/* All slots up to `now` are in use, no others. */
static void order_fill(struct reuse_lines *l)
{
	uint32_t i;

	memset(l->bits, 0, l->nr_slots / 8);
	memset(l->sums, 0, (order_nr_sums(l) * 2 + 1) * sizeof(*l->sums));
	for (i = 0; i < l->now; i++)
		order_change(l, i, 1);
}

/* Compact the slots of last uses in order; free slots are at the end. */
static void close_up(struct reuse_lines *l)
{
	uint32_t slot, to = 0;

	for (slot = 0; slot < l->now; slot++) {
		uint32_t owner = l->owner[slot];

		if (owner >= l->nr || l->lines[owner].slot != slot)
			continue;
		l->owner[to] = owner;
		l->lines[owner].slot = to++;
	}
	l->now = to;
	order_fill(l);
}

/* ---- the table ----------------------------------------------------------- */

static void lines_place(struct reuse_lines *l, uint32_t index)
{
	uint64_t i = lines_hash(l, l->lines[index].line);

	while (l->places[i & (l->nr_places - 1)])
		i++;
	l->places[i & (l->nr_places - 1)] = index + 1;
}

static struct reuse_line *lines_find(struct reuse_lines *l, uint64_t line)
{
	uint32_t at, *recent = &l->recent[line & (LINES_RECENT - 1)];
	uint64_t i;

	if (*recent < l->nr && l->lines[*recent].line == line)
		return &l->lines[*recent];
	i = lines_hash(l, line);
	while ((at = l->places[i & (l->nr_places - 1)]) != 0) {
		if (l->lines[at - 1].line == line) {
			*recent = at - 1;
			return &l->lines[at - 1];
		}
		i++;
	}
	return NULL;
}

/* Resize for @size lines: table, hash table (at least half empty), slots (four per line). */
static int lines_resize(struct reuse_lines *l, uint32_t size)
{
	struct reuse_line *lines = realloc(l->lines, size * sizeof(*lines));
	uint32_t *places, *sums, *owner, i;
	uint64_t *bits;

	if (lines)
		l->lines = lines;
	places = calloc((size_t)size * 2, sizeof(*places));
	bits = calloc((size_t)size * 4 / 64 + 1, sizeof(*bits));
	sums = calloc(((size_t)size * 4 / SUM_SLOTS + 1) * 2 + 1, sizeof(*sums));
	owner = realloc(l->owner, (size_t)size * 4 * sizeof(*owner));
	if (owner)
		l->owner = owner;
	if (!lines || !places || !bits || !sums || !owner) {
		free(places);
		free(bits);
		free(sums);
		return -ENOMEM;
	}
	free(l->places);
	free(l->bits);
	free(l->sums);
	l->places = places;
	l->bits = bits;
	l->sums = sums;
	l->size = size;
	l->nr_places = size * 2;
	l->nr_slots = size * 4;
	for (i = 0; i < l->nr; i++)
		lines_place(l, i);
	close_up(l);
	return 0;
}

/* Give the line at @index the slot of the most recent use. */
static void move_to_front(struct reuse_lines *l, uint32_t index)
{
	if (l->now == l->nr_slots)
		close_up(l);
	l->lines[index].slot = l->now;
	l->owner[l->now] = index;
	order_change(l, l->now++, 1);
}

/* ---- the list of lines used last -------------------------------------------- */

/* Give all lines of the list a slot. */
static void lines_empty_top(struct reuse_lines *l)
{
	while (l->nr_top) {
		move_to_front(l, l->top[--l->nr_top]);
		l->top[l->nr_top] = NO_SLOT;
	}
}

#ifdef __SSE2__
_Static_assert(LINES_TOP == 16, "four vectors");

/* Where @index is in the list, without a branch; it is there. */
static uint32_t lines_top_find(const struct reuse_lines *l, uint32_t index)
{
	const __m128i *top = (const __m128i *)l->top, wanted = _mm_set1_epi32((int)index);
	__m128i low = _mm_packs_epi32(_mm_cmpeq_epi32(top[0], wanted),
				      _mm_cmpeq_epi32(top[1], wanted));
	__m128i high = _mm_packs_epi32(_mm_cmpeq_epi32(top[2], wanted),
				       _mm_cmpeq_epi32(top[3], wanted));
	unsigned found = (unsigned)_mm_movemask_epi8(_mm_packs_epi16(low, high));

	return (uint32_t)__builtin_ctz(found | 1u << (LINES_TOP - 1));
}

/* Four places of the list: those up to @from become those before them, the first one @before. */
static __m128i lines_top_shift(__m128i places, __m128i before, __m128i numbers, __m128i from)
{
	__m128i moved = _mm_or_si128(_mm_slli_si128(places, 4), _mm_srli_si128(before, 12));
	__m128i stays = _mm_cmpgt_epi32(numbers, from);

	return _mm_or_si128(_mm_and_si128(stays, places), _mm_andnot_si128(stays, moved));
}

/* Move the list up to place @from by one place, and begin it with @index. */
static void lines_top_move(struct reuse_lines *l, uint32_t from, uint32_t index)
{
	__m128i *top = (__m128i *)l->top, last = _mm_set1_epi32((int)from);
	__m128i numbers = _mm_set_epi32(3, 2, 1, 0), before = _mm_set1_epi32((int)index);
	uint32_t i;

	for (i = 0; i < LINES_TOP / 4; i++) {
		__m128i places = top[i];

		top[i] = lines_top_shift(places, before, numbers, last);
		before = places;
		numbers = _mm_add_epi32(numbers, _mm_set1_epi32(4));
	}
}
#else
static uint32_t lines_top_find(const struct reuse_lines *l, uint32_t index)
{
	uint32_t i;

	for (i = 0; i < LINES_TOP - 1 && l->top[i] != index; i++)
		;
	return i;
}

static void lines_top_move(struct reuse_lines *l, uint32_t from, uint32_t index)
{
	for (; from > 0; from--)
		l->top[from] = l->top[from - 1];
	l->top[0] = index;
}
#endif

/* ---- the sample ---------------------------------------------------------------- */

/* Too many lines: halve the sample. */
static void lines_thin_out(struct reuse_lines *l)
{
	uint32_t i, to = 0;

	lines_empty_top(l);
	if (l->one_in < UINT64_C(1) << 32)
		l->one_in *= 2;
	/* close_up() needs the old line indices in owner[]. */
	for (i = 0; i < l->now; i++) {
		struct reuse_line *line = &l->lines[l->owner[i]];

		if (line->slot == i && !is_sampled(l, line->line))
			line->slot = NO_SLOT;
	}
	close_up(l);
	for (i = 0; i < l->nr; i++) {
		if (l->lines[i].slot == NO_SLOT)
			continue;
		l->owner[l->lines[i].slot] = to;
		l->lines[to++] = l->lines[i];
	}
	l->nr = to;
	memset(l->places, 0, l->nr_places * sizeof(*l->places));
	for (i = 0; i < l->nr; i++)
		lines_place(l, i);
}

int lines_init(struct reuse_lines *l, uint32_t max)
{
	memset(l, 0, sizeof(*l));
	if (getrandom(&l->seed, sizeof(l->seed), GRND_NONBLOCK) != sizeof(l->seed))
		l->seed = (uint64_t)(uintptr_t)l;
	/* Sizes are powers of two, so that hash positions can be masked. */
	for (l->max = 64; l->max < (max ? max : LINES_MAX);)
		l->max *= 2;
	l->one_in = 1;
	memset(l->top, 0xff, sizeof(l->top));
	l->recent = calloc(LINES_RECENT, sizeof(*l->recent));
	if (!l->recent)
		return -ENOMEM;
	return lines_resize(l, l->max < FIRST_LINES ? l->max : FIRST_LINES);
}

/* ---- uses ---------------------------------------------------------------- */

static unsigned lines_bucket(uint64_t distance)
{
	unsigned b = distance ? 64 - (unsigned)__builtin_clzll(distance) : 0;

	return b < LINES_BUCKETS ? b : LINES_BUCKETS - 1;
}

uint64_t lines_bucket_start(unsigned b)
{
	return b ? UINT64_C(1) << (b - 1) : 0;
}

/* Add a line.  0 with the line, or NULL if it is not in the sample; -ENOMEM. */
static int first_use(struct reuse_lines *l, uint64_t number, struct reuse_line **out)
{
	unsigned tries;

	*out = NULL;
	/*
	 * One halving may not be enough; for a hostile trace it may never be, so the tries are
	 * bounded.
	 */
	for (tries = 0; l->nr == l->max && tries < 4; tries++)
		lines_thin_out(l);
	if (l->nr == l->max || (l->one_in > 1 && !is_sampled(l, number)))
		return 0;
	if (l->nr == l->size && lines_resize(l, l->size * 2) < 0)
		return -ENOMEM;
	*out = &l->lines[l->nr];
	**out = (struct reuse_line){ .line = number, .type = ~0u, .slot = NO_SLOT };
	lines_place(l, l->nr++);
	l->cold += l->one_in;
	l->distinct += l->one_in;
	return 0;
}

static void lines_count(struct reuse_lines *l, struct reuse_line *line, bool write, uint32_t thread,
			uint32_t type)
{
	uint64_t who = UINT64_C(1) << thread % 64;

	if (write) {
		line->writes++;
		line->writers |= who;
	} else {
		line->reads++;
		line->readers |= who;
	}
	if (type != ~0u)
		line->type = type;
	if (line->window != l->window + 1) {
		line->window = l->window + 1;
		l->window_lines += l->one_in;
	}
}

/*
 * Use the line *@out, which is not in the list; NULL: a new one.  0 with the line, or NULL if it is
 * not followed; -ENOMEM.
 */
static int lines_use_other(struct reuse_lines *l, uint64_t number, struct reuse_line **out)
{
	struct reuse_line *line = *out;

	if (line) {
		uint64_t behind = l->nr_top + order_behind(l, line->slot);

		l->reuse[lines_bucket(behind * l->one_in)] += l->one_in;
		order_change(l, line->slot, ~0u);
		line->slot = NO_SLOT;
	} else if (first_use(l, number, out) < 0) {
		return -ENOMEM;
	}
	if (!*out)
		return 0;
	if (l->nr_top == LINES_TOP)
		move_to_front(l, l->top[LINES_TOP - 1]);
	else
		l->nr_top++;
	lines_top_move(l, l->nr_top - 1, (uint32_t)(*out - l->lines));
	return 0;
}

int lines_use(struct reuse_lines *l, uint64_t number, bool write, uint32_t thread, uint32_t type)
{
	struct reuse_line *line;
	uint32_t at;

	l->uses++;
	if (l->nr_top && l->last == number) {
		l->reuse[0] += l->one_in;
		lines_count(l, &l->lines[l->top[0]], write, thread, type);
		return 0;
	}
	if (l->one_in > 1 && !is_sampled(l, number))
		return 0;
	line = lines_find(l, number);
	if (line && line->slot == NO_SLOT) { /* it is in the list */
		at = lines_top_find(l, (uint32_t)(line - l->lines));
		l->reuse[lines_bucket(at * l->one_in)] += l->one_in;
		lines_top_move(l, at, (uint32_t)(line - l->lines));
	} else if (lines_use_other(l, number, &line) < 0) {
		return -ENOMEM;
	}
	if (!line)
		return 0;
	l->last = number;
	lines_count(l, line, write, thread, type);
	return 0;
}

void lines_window(struct reuse_lines *l)
{
	l->window++;
	l->window_lines = 0;
}

static uint64_t all_uses(const struct reuse_line *line)
{
	return line->reads + line->writes;
}

size_t lines_hottest(struct reuse_lines *l, const struct reuse_line **out, size_t nr)
{
	size_t have = 0, k;
	uint32_t i;

	for (i = 0; i < l->nr; i++) {
		const struct reuse_line *line = &l->lines[i];

		if (have == nr && (!nr || all_uses(out[nr - 1]) >= all_uses(line)))
			continue;
		k = have < nr ? have++ : nr - 1;
		for (; k > 0 && all_uses(out[k - 1]) < all_uses(line); k--)
			out[k] = out[k - 1];
		out[k] = line;
	}
	return have;
}

void lines_release(struct reuse_lines *l)
{
	free(l->lines);
	free(l->places);
	free(l->bits);
	free(l->sums);
	free(l->recent);
	free(l->owner);
	memset(l, 0, sizeof(*l));
}

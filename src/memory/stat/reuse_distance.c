/* SPDX-License-Identifier: MIT */
/* reuse_distance.c - statistics per cache line: uses, threads, reuse distances. */
#include "memory/stat/reuse_distance.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

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

/* ---- the Fenwick tree ---------------------------------------------------- */

static void tree_add(struct reuse_lines *l, uint32_t slot, uint32_t by)
{
	for (slot++; slot <= l->nr_slots; slot += slot & (0 - slot))
		l->tree[slot] += by; /* adding ~0 subtracts 1 */
}

/* Number of last uses in slots 0 to @slot. */
static uint32_t tree_sum(const struct reuse_lines *l, uint32_t slot)
{
	uint32_t sum = 0;

	for (slot++; slot > 0; slot &= slot - 1)
		sum += l->tree[slot];
	return sum;
}

/* Rebuild the tree: all slots up to `now` are in use. */
static void tree_fill(struct reuse_lines *l)
{
	uint32_t i;

	for (i = 1; i <= l->nr_slots; i++)
		l->tree[i] = i <= l->now;
	for (i = 1; i <= l->nr_slots; i++) {
		uint32_t up = i + (i & (0 - i));

		if (up <= l->nr_slots)
			l->tree[up] += l->tree[i];
	}
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
	tree_fill(l);
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
	uint64_t i = lines_hash(l, line);
	uint32_t at;

	while ((at = l->places[i & (l->nr_places - 1)]) != 0) {
		if (l->lines[at - 1].line == line)
			return &l->lines[at - 1];
		i++;
	}
	return NULL;
}

/* Resize for @size lines: table, hash table (at least half empty), slots (four per line). */
static int lines_resize(struct reuse_lines *l, uint32_t size)
{
	struct reuse_line *lines = realloc(l->lines, size * sizeof(*lines));
	uint32_t *places, *tree, *owner, i;

	if (lines)
		l->lines = lines;
	places = calloc((size_t)size * 2, sizeof(*places));
	tree = calloc((size_t)size * 4 + 1, sizeof(*tree));
	owner = realloc(l->owner, (size_t)size * 4 * sizeof(*owner));
	if (owner)
		l->owner = owner;
	if (!lines || !places || !tree || !owner) {
		free(places);
		free(tree);
		return -ENOMEM;
	}
	free(l->places);
	free(l->tree);
	l->places = places;
	l->tree = tree;
	l->size = size;
	l->nr_places = size * 2;
	l->nr_slots = size * 4;
	for (i = 0; i < l->nr; i++)
		lines_place(l, i);
	close_up(l);
	l->last = NULL;
	return 0;
}

/* Too many lines: halve the sample. */
static void lines_thin_out(struct reuse_lines *l)
{
	uint32_t i, to = 0;

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
	l->last = NULL;
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

/* Make it the most recently used line. */
static void move_to_front(struct reuse_lines *l, struct reuse_line *line)
{
	if (l->now == l->nr_slots)
		close_up(l);
	line->slot = l->now;
	l->owner[l->now] = (uint32_t)(line - l->lines);
	tree_add(l, l->now++, 1);
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

int lines_use(struct reuse_lines *l, uint64_t number, bool write, uint32_t thread, uint32_t type)
{
	struct reuse_line *line = l->last;

	l->uses++;
	if (line && line->line == number) {
		l->reuse[0] += l->one_in;
		lines_count(l, line, write, thread, type);
		return 0;
	}
	if (l->one_in > 1 && !is_sampled(l, number))
		return 0;
	line = lines_find(l, number);
	if (line) {
		uint64_t behind = l->nr - tree_sum(l, line->slot);

		l->reuse[lines_bucket(behind * l->one_in)] += l->one_in;
		tree_add(l, line->slot, ~0u);
		line->slot = NO_SLOT;
	} else if (first_use(l, number, &line) < 0) {
		return -ENOMEM;
	}
	if (!line)
		return 0;
	move_to_front(l, line);
	l->last = line;
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
	free(l->tree);
	free(l->owner);
	memset(l, 0, sizeof(*l));
}

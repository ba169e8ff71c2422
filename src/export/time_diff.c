/* SPDX-License-Identifier: MIT */
/* time_diff.c - the time of two versions of a program by stack, as one tree. */
#include "export/time_diff.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- places of both sides ---------------------------------------------------------- */

struct sided_place {
	const struct time_place *place;
	const char *file; /* last component; "" if unknown */
	uint32_t side, number;
};

/* The common number of each place of a side. */
struct place_pairs {
	uint32_t *numbers[NR_TIME_SIDES];
	const struct time_place **places; /* by common number */
	uint32_t nr;
};

static const char *place_file(const struct time_place *place)
{
	const char *file = place->file ? place->file : "", *slash = strrchr(file, '/');

	return slash ? slash + 1 : file;
}

static int place_name_order(const struct sided_place *x, const struct sided_place *y)
{
	int order = strcmp(x->place->name, y->place->name);

	return order ? order : strcmp(x->file, y->file);
}

/* By name and file; of these first the base, then the head, each by line. */
static int place_order(const void *a, const void *b)
{
	const struct sided_place *x = a, *y = b;
	int order = place_name_order(x, y);

	if (!order)
		order = x->side < y->side ? -1 : x->side > y->side;
	if (!order)
		order = x->place->line < y->place->line ? -1 : x->place->line > y->place->line;
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void place_number(struct place_pairs *pairs, const struct sided_place *p)
{
	pairs->places[pairs->nr] = p->place;
	pairs->numbers[p->side][p->number] = pairs->nr;
}

/* @base and @head are places of one name and file. */
static void place_pair(struct place_pairs *pairs, const struct sided_place *base, size_t nr_base,
		       const struct sided_place *head, size_t nr_head)
{
	size_t b = 0, h = 0;

	while (b < nr_base || h < nr_head) {
		bool both = b < nr_base && h < nr_head;
		bool same = nr_base == nr_head ||
			    (both && base[b].place->line == head[h].place->line);
		bool first = h == nr_head || (both && base[b].place->line < head[h].place->line);

		if (same || first)
			place_number(pairs, &base[b++]);
		if (same || !first)
			place_number(pairs, &head[h++]);
		pairs->nr++;
	}
}

static void place_pair_all(struct place_pairs *pairs, const struct sided_place *all, size_t nr)
{
	size_t at, end, middle;

	for (at = 0; at < nr; at = end) {
		for (end = at; end < nr && !place_name_order(&all[at], &all[end]);)
			end++;
		for (middle = at; middle < end && all[middle].side == TIME_BASE;)
			middle++;
		place_pair(pairs, all + at, middle - at, all + middle, end - middle);
	}
}

static void pairs_release(struct place_pairs *pairs)
{
	free(pairs->numbers[TIME_BASE]);
	free(pairs->numbers[TIME_HEAD]);
	free(pairs->places);
}

static int pairs_make(struct place_pairs *pairs, const struct time_diff *d)
{
	size_t nr_base = time_tree_places(&d->sides[TIME_BASE]);
	size_t nr_head = time_tree_places(&d->sides[TIME_HEAD]), nr = nr_base + nr_head, i;
	struct sided_place *all = calloc(nr + 1, sizeof(*all));

	pairs->numbers[TIME_BASE] = calloc(nr_base + 1, sizeof(uint32_t));
	pairs->numbers[TIME_HEAD] = calloc(nr_head + 1, sizeof(uint32_t));
	pairs->places = calloc(nr + 1, sizeof(const struct time_place *));
	if (!all || !pairs->numbers[TIME_BASE] || !pairs->numbers[TIME_HEAD] || !pairs->places) {
		free(all);
		return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		uint32_t side = i < nr_base ? TIME_BASE : TIME_HEAD;
		size_t number = side == TIME_BASE ? i : i - nr_base;
		const struct time_place *place = &d->sides[side].places[number];

		all[i] = (struct sided_place){ place, place_file(place), side, (uint32_t)number };
	}
	qsort(all, nr, sizeof(*all), place_order);
	place_pair_all(pairs, all, nr);
	free(all);
	return 0;
}

/* ---- the tree ------------------------------------------------------------------------ */

static int64_t node_new(struct time_diff *d, uint32_t parent, const struct time_place *place)
{
	if (d->nr == d->room) {
		size_t room = d->room ? d->room * 2 : 64;
		struct time_diff_node *nodes = reallocarray(d->nodes, room, sizeof(*nodes));

		if (!nodes || room > UINT32_MAX) {
			d->nodes = nodes ? nodes : d->nodes;
			return -ENOMEM;
		}
		d->nodes = nodes;
		d->room = room;
	}
	d->nodes[d->nr] = (struct time_diff_node){ .parent = parent, .place = place };
	return (int64_t)d->nr++;
}

static int64_t node_child(struct time_diff *d, struct u64map *children, uint32_t parent,
			  const struct place_pairs *pairs, uint32_t place)
{
	uint64_t *number = u64map_at(children, (uint64_t)parent << 32 | place);
	int64_t fresh;

	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number;
	fresh = node_new(d, parent, pairs->places[place]);
	if (fresh > 0)
		*number = (uint64_t)fresh;
	return fresh;
}

/* Add the levels of a side. */
static int nodes_add_side(struct time_diff *d, enum time_side side, struct u64map *children,
			  const struct place_pairs *pairs)
{
	const struct time_tree *t = &d->sides[side];
	uint32_t *numbers = calloc(t->nr_levels + 1, sizeof(*numbers));
	int64_t node = numbers ? 0 : -ENOMEM;
	size_t i;

	for (i = 1; node >= 0 && i < t->nr_levels; i++) {
		const struct time_level *level = &t->levels[i];

		node = node_child(d, children, numbers[level->parent], pairs,
				  pairs->numbers[side][level->place]);
		if (node < 0)
			break;
		numbers[i] = (uint32_t)node;
		d->nodes[node].ns[side] += level->ns;
		if (level->state)
			d->nodes[node].state = level->state;
	}
	free(numbers);
	return node < 0 ? -ENOMEM : 0;
}

int time_diff_make(struct time_diff *d)
{
	struct place_pairs pairs = { .nr = 0 };
	struct u64map children = { 0 };
	int rc = pairs_make(&pairs, d);
	size_t i;

	if (!rc && node_new(d, 0, NULL) < 0)
		rc = -ENOMEM;
	if (!rc)
		rc = nodes_add_side(d, TIME_BASE, &children, &pairs);
	if (!rc)
		rc = nodes_add_side(d, TIME_HEAD, &children, &pairs);
	/* Children come after their parents: their sums are complete before they are added. */
	for (i = d->nr; !rc && i-- > 1;) {
		d->nodes[d->nodes[i].parent].ns[TIME_BASE] += d->nodes[i].ns[TIME_BASE];
		d->nodes[d->nodes[i].parent].ns[TIME_HEAD] += d->nodes[i].ns[TIME_HEAD];
	}
	u64map_release(&children);
	pairs_release(&pairs);
	return rc;
}

/* ---- what is shown --------------------------------------------------------------------- */

static uint32_t nodes_number(const struct time_diff *d, uint64_t share, uint32_t *numbers)
{
	uint32_t nr = 0;
	size_t i;

	for (i = 0; i < d->nr; i++) {
		const struct time_diff_node *n = &d->nodes[i];
		bool is_large = n->ns[TIME_BASE] > d->nodes[0].ns[TIME_BASE] / share ||
				n->ns[TIME_HEAD] > d->nodes[0].ns[TIME_HEAD] / share;
		bool is_below = !i || numbers[n->parent] != UINT32_MAX;

		numbers[i] = !i || (is_large && is_below) ? nr++ : UINT32_MAX;
	}
	return nr;
}

uint32_t time_diff_choose(const struct time_diff *d, uint32_t most, uint64_t share,
			  uint32_t *numbers)
{
	uint32_t nr = nodes_number(d, share, numbers);

	while (nr > most && share > 1) {
		share /= 2;
		nr = nodes_number(d, share, numbers);
	}
	return nr;
}

void time_diff_release(struct time_diff *d)
{
	time_tree_release(&d->sides[TIME_BASE]);
	time_tree_release(&d->sides[TIME_HEAD]);
	free(d->nodes);
	*d = (struct time_diff){ .nr = 0 };
}

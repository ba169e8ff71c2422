/* SPDX-License-Identifier: MIT */
/* time_tree.c - time by stacks of places, the content of a profile. */
#include "export/time_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int time_tree_reserve(void **array, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *grown;

	if (nr < *room)
		return 0;
	grown = reallocarray(*array, more, size);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*room = more;
	return 0;
}

int64_t time_tree_place(struct time_tree *t, const char *name, const char *file, uint32_t line)
{
	size_t nr = t->keys.nr;
	struct time_place place = { .line = line };
	int64_t number;
	char *key;

	if (asprintf(&key, "%s\n%s\n%" PRIu32, name, file ? file : "", line) < 0)
		return -ENOMEM;
	if (time_tree_reserve((void **)&t->places, nr, &t->places_room, sizeof(*t->places)) < 0)
		number = -ENOMEM;
	else
		number = strtab_intern(&t->keys, key);
	free(key);
	if (number < 0 || t->keys.nr == nr)
		return number;
	place.name = strdup(name);
	place.file = file && *file ? strdup(file) : NULL;
	t->places[nr] = place;
	return place.name && (place.file || !file || !*file) ? number : -ENOMEM;
}

static int time_tree_begin(struct time_tree *t)
{
	if (t->nr_levels)
		return 0;
	if (time_tree_reserve((void **)&t->levels, 0, &t->levels_room, sizeof(*t->levels)) < 0)
		return -ENOMEM;
	t->levels[t->nr_levels++] = (struct time_level){ .parent = 0 };
	return 0;
}

int64_t time_tree_child(struct time_tree *t, uint32_t parent, uint32_t place)
{
	uint64_t *number;

	if (time_tree_begin(t) < 0)
		return -ENOMEM;
	if (t->levels[parent].depth >= TIME_TREE_DEPTH)
		return parent;
	number = u64map_at(&t->children, (uint64_t)parent << 32 | place);
	if (!number)
		return -ENOMEM;
	if (*number)
		return (int64_t)*number;
	if (t->nr_levels > UINT32_MAX / 2 ||
	    time_tree_reserve((void **)&t->levels, t->nr_levels, &t->levels_room,
			      sizeof(*t->levels)) < 0)
		return -ENOMEM;
	t->levels[t->nr_levels] = (struct time_level){
		.parent = parent,
		.place = place,
		.depth = t->levels[parent].depth + 1,
	};
	*number = t->nr_levels++;
	return (int64_t)*number;
}

/* The level of @to for level @i of @from, whose parent has one. */
static int64_t time_tree_copy_level(struct time_tree *to, const struct time_tree *from, size_t i,
				    const uint32_t *numbers)
{
	const struct time_level *level = &from->levels[i];
	const struct time_place *at = &from->places[level->place];
	int64_t place = time_tree_place(to, at->name, at->file, at->line);

	return place < 0 ? place : time_tree_child(to, numbers[level->parent], (uint32_t)place);
}

int time_tree_join(struct time_tree *to, const struct time_tree *from)
{
	uint32_t *numbers = calloc(from->nr_levels + 1, sizeof(*numbers));
	int64_t number = numbers ? 0 : -ENOMEM;
	size_t i;

	/* A parent comes before its children. */
	for (i = 1; number >= 0 && i < from->nr_levels; i++) {
		number = time_tree_copy_level(to, from, i, numbers);
		if (number < 0)
			break;
		numbers[i] = (uint32_t)number;
		to->levels[number].state = from->levels[i].state;
		to->levels[number].count += from->levels[i].count;
		to->levels[number].ns += from->levels[i].ns;
	}
	free(numbers);
	return number < 0 ? -ENOMEM : 0;
}

unsigned time_tree_stack(const struct time_tree *t, uint32_t level,
			 uint32_t places[TIME_TREE_DEPTH])
{
	unsigned depth = t->levels[level].depth, i;

	for (i = depth; i > 0; i--, level = t->levels[level].parent)
		places[i - 1] = t->levels[level].place;
	return depth;
}

void time_tree_release(struct time_tree *t)
{
	size_t i;

	for (i = 0; i < t->keys.nr; i++) {
		free(t->places[i].name);
		free(t->places[i].file);
	}
	free(t->places);
	free(t->levels);
	strtab_release(&t->keys);
	u64map_release(&t->children);
	*t = (struct time_tree){ .nr_levels = 0 };
}

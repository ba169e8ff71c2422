/* SPDX-License-Identifier: MIT */
/* wait_profile.c - stacks of tasks and their states, added up over many looks. */
#include "inspect/wait_profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more element; false: no memory. */
static bool profile_reserve(void **list, size_t nr, size_t *room, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (nr < *room)
		return true;
	if (more > UINT32_MAX / 2)
		return false;
	bigger = reallocarray(*list, more, size);
	if (!bigger)
		return false;
	*list = bigger;
	*room = more;
	return true;
}

static char *profile_copy(const char *text, bool *ok)
{
	char *copy = text ? strdup(text) : NULL;

	*ok = *ok && (!text || copy);
	return copy;
}

static void profile_place_release(struct profile_place *place)
{
	free(place->function);
	free(place->file);
	free(place->awaits);
}

/* ---- places and levels ----------------------------------------------------------- */

/* The caller frees it.  Separators are bytes that are in no name. */
static char *profile_place_key(const struct inspect_place *place)
{
	char *key;

	if (asprintf(&key, "%s\x1f%s\x1f%s\x1f%u %d %d", place->function ? place->function : "",
		     place->file ? place->file : "", place->awaits ? place->awaits : "",
		     place->line, place->is_exact, place->is_initial) < 0)
		return NULL;
	return key;
}

uint32_t wait_profile_place(struct wait_profile *p, const struct inspect_place *place)
{
	char *key = profile_place_key(place);
	int64_t number;
	struct profile_place copy;
	bool ok = true;

	if (!key)
		return 0;
	number = strtab_find(&p->place_keys, key);
	if (number < 0 && profile_reserve((void **)&p->places, p->nr_places, &p->room_places,
					  sizeof(*p->places))) {
		copy = (struct profile_place){
			.function = profile_copy(place->function ? place->function : "?", &ok),
			.file = profile_copy(place->file, &ok),
			.awaits = profile_copy(place->awaits, &ok),
			.line = place->line,
			.is_exact = place->is_exact,
			.is_initial = place->is_initial,
		};
		number = ok ? strtab_intern(&p->place_keys, key) : -ENOMEM;
		if (number >= 0)
			p->places[p->nr_places++] = copy;
		else
			profile_place_release(&copy);
	}
	free(key);
	return number < 0 ? 0 : (uint32_t)number + 1;
}

uint32_t wait_profile_level(struct wait_profile *p, uint32_t parent, uint32_t place)
{
	uint64_t *slot = u64map_at(&p->by_level, (uint64_t)parent << 32 | place);

	if (!slot || !place)
		return 0;
	if (*slot)
		return (uint32_t)*slot;
	if (!profile_reserve((void **)&p->levels, p->nr_levels, &p->room_levels,
			     sizeof(*p->levels)))
		return 0;
	p->levels[p->nr_levels++] = (struct profile_level){
		.parent = parent,
		.place = place,
		.depth = parent ? p->levels[parent - 1].depth + 1 : 1,
	};
	*slot = p->nr_levels;
	return (uint32_t)p->nr_levels;
}

/* ---- tasks ------------------------------------------------------------------------- */

int wait_profile_add(struct wait_profile *p, uint32_t level, enum profile_state state,
		     uint64_t tasks)
{
	uint64_t *slot = level ? u64map_at(&p->by_stack, (uint64_t)level << 2 | (unsigned)state)
			       : NULL;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		if (!profile_reserve((void **)&p->stacks, p->nr_stacks, &p->room_stacks,
				     sizeof(*p->stacks)))
			return -ENOMEM;
		p->stacks[p->nr_stacks++] = (struct profile_stack){
			.level = level,
			.state = state,
		};
		*slot = p->nr_stacks;
	}
	p->stacks[*slot - 1].this_look += tasks;
	return 0;
}

void wait_profile_end_look(struct wait_profile *p)
{
	size_t i;

	for (i = 0; i < p->nr_stacks; i++) {
		struct profile_stack *s = &p->stacks[i];

		p->samples[s->state] += s->this_look;
		s->samples += s->this_look;
		s->most = s->this_look > s->most ? s->this_look : s->most;
		s->this_look = 0;
	}
	p->looks++;
}

void wait_profile_drop_look(struct wait_profile *p)
{
	size_t i;

	for (i = 0; i < p->nr_stacks; i++)
		p->stacks[i].this_look = 0;
}

/* ---- results ------------------------------------------------------------------------ */

static int profile_by_samples(const void *a, const void *b)
{
	const struct profile_stack *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->level != y->level)
		return x->level < y->level ? -1 : 1;
	return (int)x->state - (int)y->state;
}

void wait_profile_sort(struct wait_profile *p)
{
	if (p->nr_stacks)
		qsort(p->stacks, p->nr_stacks, sizeof(*p->stacks), profile_by_samples);
	/* Stacks that only failed looks have seen. */
	while (p->nr_stacks && !p->stacks[p->nr_stacks - 1].samples)
		p->nr_stacks--;
	u64map_release(&p->by_stack);
}

uint64_t wait_profile_samples(const struct wait_profile *p)
{
	return p->samples[PROFILE_WAITING] + p->samples[PROFILE_READY] +
	       p->samples[PROFILE_RUNNING];
}

double wait_profile_seconds(const struct wait_profile *p, uint64_t samples)
{
	return (double)samples * (double)p->period_ns / 1e9;
}

const struct profile_level *wait_profile_level_at(const struct wait_profile *p, uint32_t level)
{
	return &p->levels[level - 1];
}

const struct profile_place *wait_profile_place_at(const struct wait_profile *p, uint32_t level)
{
	return &p->places[p->levels[level - 1].place - 1];
}

const char *profile_state_name(enum profile_state state)
{
	static const char *const names[PROFILE_STATES] = {
		[PROFILE_WAITING] = "waiting",
		[PROFILE_READY] = "ready",
		[PROFILE_RUNNING] = "running",
	};

	return names[state];
}

void wait_profile_release(struct wait_profile *p)
{
	size_t i;

	for (i = 0; i < p->nr_places; i++)
		profile_place_release(&p->places[i]);
	free(p->places);
	free(p->levels);
	free(p->stacks);
	strtab_release(&p->place_keys);
	u64map_release(&p->by_level);
	u64map_release(&p->by_stack);
	*p = (struct wait_profile){ 0 };
}

/* SPDX-License-Identifier: MIT */
/* leftover.c - coroutines that had not ended at the end of the run, grouped by state and site. */
#include "trace/leftover.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/item.h"

bool summary_is_more_stuck(const struct summary_last *a, const struct summary_last *b)
{
	bool a_waits = a->state != TRACE_STATE_RUNNING, b_waits = b->state != TRACE_STATE_RUNNING;

	return a_waits != b_waits ? a_waits : a->ts < b->ts;
}

/* ---- which group --------------------------------------------------------------- */

/* The group has this state, reason and location: a source location, or the address without one. */
static bool is_at(const struct leftover_group *g, const struct summary_last *last, uint64_t place)
{
	if (g->last.state != last->state || g->last.reason != last->reason || g->place != place)
		return false;
	return place || last->state != TRACE_STATE_SUSPENDED || g->last.addr == last->addr;
}

/* Two locations may have the same key: the caller compares, and tries the next key. */
static uint64_t leftovers_key_of(const struct summary_last *last, uint64_t place)
{
	uint64_t where = place ? place << 1 : last->addr << 1 | 1;

	if (last->state != TRACE_STATE_SUSPENDED)
		where = 0;
	return where ^ (uint64_t)last->state << 56 ^ (uint64_t)last->reason << 48;
}

static struct leftover_group *add_group(struct leftovers *l, uint64_t key)
{
	struct leftover_group *more;
	size_t room = l->room ? l->room * 2 : 16;

	if (l->nr == l->room) {
		more = reallocarray(l->groups, room, sizeof(*more));
		if (!more)
			return NULL;
		l->groups = more;
		l->room = room;
	}
	if (u64map_put(&l->by_key, key, l->nr) < 0)
		return NULL;
	more = &l->groups[l->nr++];
	memset(more, 0, sizeof(*more));
	return more;
}

/* Returns 0, -ENOMEM, or -ENOSPC: there are LEFTOVER_GROUPS groups already. */
static int find_group(struct leftovers *l, const struct summary_last *last, uint64_t place,
		      struct leftover_group **out)
{
	uint64_t key = leftovers_key_of(last, place), number;

	for (; u64map_get(&l->by_key, key, &number); key++) {
		*out = &l->groups[number];
		if (is_at(*out, last, place))
			return 0;
	}
	if (l->nr == LEFTOVER_GROUPS)
		return -ENOSPC;
	*out = add_group(l, key);
	return *out ? 0 : -ENOMEM;
}

/* ---- its members --------------------------------------------------------------- */

/* Kept sorted; if the array is full, the highest resource is removed. */
static void leftovers_add_resource(struct leftover_group *g, uint64_t resource)
{
	unsigned at = g->nr_resources;

	while (at > 0 && g->resources[at - 1] > resource)
		at--;
	if (at > 0 && g->resources[at - 1] == resource)
		return;
	if (g->nr_resources == LEFTOVER_RESOURCES) {
		g->has_more_resources = true;
		if (at == LEFTOVER_RESOURCES)
			return;
		g->nr_resources--;
	}
	memmove(&g->resources[at + 1], &g->resources[at],
		(g->nr_resources - at) * sizeof(g->resources[0]));
	g->resources[at] = resource;
	g->nr_resources++;
}

static int leftovers_add_name(struct leftover_group *g, const char *name)
{
	if (!name || !*name || g->nr_names == LEFTOVER_NAMES)
		return 0;
	g->names[g->nr_names] = strdup(name);
	if (!g->names[g->nr_names])
		return -ENOMEM;
	g->nr_names++;
	return 0;
}

int leftovers_add(struct leftovers *l, uint64_t probe_id, const char *name,
		  const struct summary_last *last, uint64_t place)
{
	struct leftover_group *g;
	int rc = find_group(l, last, place, &g);

	if (rc == -ENOSPC) {
		l->nr_elsewhere++;
		return 0;
	}
	if (rc)
		return rc;
	if (!g->nr || summary_is_more_stuck(last, &g->last)) {
		g->last = *last;
		g->probe_id = probe_id;
	}
	if (!g->nr || last->ts > g->newest_ts)
		g->newest_ts = last->ts;
	g->place = place;
	g->nr++;
	if (last->has_resource)
		leftovers_add_resource(g, last->resource);
	return leftovers_add_name(g, name);
}

/* ---- all of them --------------------------------------------------------------- */

static bool comes_before(const struct leftover_group *a, const struct leftover_group *b)
{
	return a->nr != b->nr ? a->nr > b->nr : summary_is_more_stuck(&a->last, &b->last);
}

/* Insertion into a sorted list: @max is small. */
size_t leftovers_top(const struct leftovers *l, size_t *numbers, size_t max)
{
	size_t nr = 0, i, at;

	for (i = 0; i < l->nr; i++) {
		for (at = nr; at > 0; at--) {
			if (!comes_before(&l->groups[i], &l->groups[numbers[at - 1]]))
				break;
		}
		if (at == max)
			continue;
		nr += nr < max;
		memmove(&numbers[at + 1], &numbers[at], (nr - at - 1) * sizeof(*numbers));
		numbers[at] = i;
	}
	return nr;
}

void leftovers_release(struct leftovers *l)
{
	size_t i;
	unsigned name;

	for (i = 0; i < l->nr; i++) {
		for (name = 0; name < l->groups[i].nr_names; name++)
			free(l->groups[i].names[name]);
	}
	free(l->groups);
	u64map_release(&l->by_key);
	memset(l, 0, sizeof(*l));
}

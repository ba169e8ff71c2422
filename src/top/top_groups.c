/* SPDX-License-Identifier: MIT */
/* top_groups.c - the coroutines of a picture summed up: by kind, by site, or by what they wait for.
 */
#include "top/top_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report.h"

#define GROUP_LABEL 256

size_t top_kind_size(const char *name)
{
	size_t size = strlen(name);

	while (size && strchr("0123456789 #-_:.[](){}/", name[size - 1]))
		size--;
	return size;
}

static bool top_is_lock(uint8_t reason)
{
	return reason == TRACE_REASON_MUTEX || reason == TRACE_REASON_SEMAPHORE;
}

/* Deadlines, children and turns are not shared. */
static bool top_has_resource(const struct top_row *row)
{
	const struct sidecar_coroutine *co = &row->c->co;

	return co->has_resource && row->state == TRACE_STATE_SUSPENDED && co->reason &&
	       co->reason != TRACE_REASON_TIMER && co->reason != TRACE_REASON_JOIN &&
	       co->reason != TRACE_REASON_YIELD;
}

/* Numbers of resources are those of one process. */
static void top_resource_label(const struct sidecar_coroutine *co, const struct top_picture *p,
			       char label[GROUP_LABEL])
{
	size_t size;

	report_waits_for(co->reason, true, co->resource, label, GROUP_LABEL);
	size = strlen(label);
	if (p->r.nr_processes > 1 && co->pid)
		snprintf(label + size, GROUP_LABEL - size, ", process %" PRIu64, co->pid);
}

/* False: the row is in no group. */
static bool top_label_of(const struct top_row *row, enum top_grouping by,
			 const struct top_picture *p, struct top_places *places,
			 char label[GROUP_LABEL])
{
	const struct sidecar_coroutine *co = &row->c->co;
	size_t size = top_kind_size(row->c->name);
	const char *place;

	switch (by) {
	case TOP_BY_KIND:
		if (size)
			snprintf(label, GROUP_LABEL, "%.*s", (int)size, row->c->name);
		else
			snprintf(label, GROUP_LABEL, "%s",
				 co->birth_site ? top_place(places, &p->r, (uint32_t)co->pid,
							    co->birth_site, 0)
						: "(no name)");
		return true;
	case TOP_BY_PLACE:
		place = top_row_place(row, p, places);
		snprintf(label, GROUP_LABEL, "%s", *place ? place : "(not known)");
		return true;
	case TOP_BY_RESOURCE:
		if (!top_has_resource(row))
			return false;
		top_resource_label(co, p, label);
		return true;
	}
	return false;
}

/* ---- holders ------------------------------------------------------------------------ */

/* The last acquire of each lock that no release followed, of the events still in memory. */
static void top_find_holders(struct top_groups *g, const struct top_picture *p)
{
	size_t i, t;
	uint32_t k;

	for (i = 0; i < g->nr; i++) {
		struct top_group *group = &g->at[i];
		uint64_t latest = 0;

		for (t = 0; group->is_lock && t < p->r.nr_threads; t++) {
			const struct recover_thread *thread = &p->r.threads[t];

			for (k = 0; k < thread->nr_last; k++) {
				const struct trace_event *ev = &thread->last[k].ev;

				if ((ev->kind != TRACE_ACQUIRE && ev->kind != TRACE_RELEASE) ||
				    ev->resource != group->resource || ev->ts < latest ||
				    (thread->pid && thread->pid != group->pid))
					continue;
				latest = ev->ts;
				group->holder = ev->kind == TRACE_ACQUIRE ? ev->probe_id : 0;
			}
		}
	}
}

/* ---- groups -------------------------------------------------------------------------- */

static struct top_group *top_group_enter(struct top_groups *g, const char *label)
{
	int64_t name = strtab_intern(&g->names, label);
	uint64_t *number = name < 0 ? NULL : u64map_at(&g->numbers, (uint64_t)name);
	size_t room = g->room ? g->room * 2 : 64;
	void *more;

	if (!number)
		return NULL;
	if (*number)
		return &g->at[*number - 1];
	if (g->nr == g->room) {
		more = reallocarray(g->at, room, sizeof(*g->at));
		if (!more)
			return NULL;
		g->at = more;
		g->room = room;
	}
	if ((size_t)name >= g->looks_room) {
		room = g->looks_room ? g->looks_room * 2 : 64;
		while (room <= (size_t)name)
			room *= 2;
		more = reallocarray(g->looks, room, sizeof(*g->looks));
		if (!more)
			return NULL;
		g->looks = more;
		memset(g->looks + g->looks_room, 0, (room - g->looks_room) * sizeof(*g->looks));
		g->looks_room = room;
	}
	*number = g->nr + 1;
	g->at[g->nr] = (struct top_group){ .label = strtab_text(&g->names, (size_t)name),
					   .name = (uint32_t)name };
	return &g->at[g->nr++];
}

static int top_group_add(struct top_group *group, const struct top_row *row,
			 const struct top_picture *p)
{
	uint64_t age = top_row_age(row, p);

	group->nr++;
	group->rate += row->rate;
	group->running += row->state == TRACE_STATE_RUNNING;
	group->ready += row->state == TRACE_STATE_READY;
	group->waiting += row->state == TRACE_STATE_SUSPENDED;
	group->resource = row->c->co.resource;
	group->pid = (uint32_t)row->c->co.pid;
	group->is_lock = top_is_lock(row->c->co.reason);
	return row->state == TRACE_STATE_SUSPENDED ? histogram_add(&group->waits, age) : 0;
}

static void top_groups_clear(struct top_groups *g)
{
	size_t i;

	for (i = 0; i < g->nr; i++)
		histogram_release(&g->at[i].waits);
	g->nr = 0;
	u64map_release(&g->numbers);
	g->numbers = (struct u64map){ .entries = NULL };
}

static void top_groups_look(struct top_groups *g, bool is_new)
{
	size_t i;

	for (i = 0; i < g->nr; i++) {
		struct top_group *group = &g->at[i];
		struct top_looks *looks = &g->looks[group->name];

		if (is_new) {
			looks->running += group->running;
			looks->ready += group->ready;
			looks->waiting += group->waiting;
		}
		group->looks = *looks;
	}
}

/* ---- order --------------------------------------------------------------------------- */

static int top_group_compare(const void *a, const void *b, void *arg)
{
	const struct top_group *x = a, *y = b;
	const struct top_choice *choice = arg;
	int order = 0;

	if (choice->sort == TOP_BY_RATE)
		order = x->rate > y->rate ? -1 : x->rate < y->rate;
	else if (choice->sort == TOP_BY_AGE)
		order = x->waits.max > y->waits.max ? -1 : x->waits.max < y->waits.max;
	else if (choice->sort != TOP_BY_NAME && choice->sort != TOP_BY_SITE)
		order = x->nr > y->nr ? -1 : x->nr < y->nr;
	if (!order)
		order = strcmp(x->label, y->label);
	return choice->reverse ? -order : order;
}

int top_groups_make(struct top_groups *g, enum top_grouping by, const struct top_picture *p,
		    const struct top_rows *rows, struct top_places *places,
		    const struct top_choice *choice, bool is_new)
{
	char label[GROUP_LABEL];
	size_t i;

	if (g->by != by)
		top_groups_release(g);
	g->by = by;
	top_groups_clear(g);
	for (i = 0; i < rows->nr; i++) {
		const struct top_row *row = &p->rows[rows->at[i].row];
		struct top_group *group;

		if (!top_label_of(row, by, p, places, label))
			continue;
		group = top_group_enter(g, label);
		if (!group || top_group_add(group, row, p) < 0)
			return -ENOMEM;
	}
	top_groups_look(g, is_new);
	if (by == TOP_BY_RESOURCE)
		top_find_holders(g, p);
	if (g->nr)
		qsort_r(g->at, g->nr, sizeof(*g->at), top_group_compare, (void *)choice);
	return 0;
}

void top_groups_release(struct top_groups *g)
{
	enum top_grouping by = g->by;

	top_groups_clear(g);
	free(g->at);
	free(g->looks);
	strtab_release(&g->names);
	memset(g, 0, sizeof(*g));
	g->by = by;
}

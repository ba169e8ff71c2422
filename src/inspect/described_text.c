/* SPDX-License-Identifier: MIT */
/* described_text.c - print what is known by descriptions of types. */
#include "inspect/described_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define OBJECTS_SHOWN 5                    /* in text */
#define OBJECTS_JSON  100                  /* in JSON */
#define REALTIME_FROM 946684800000000000ll /* larger: a time since 1970, not since the start */

static uint64_t described_member_addr(const struct inspection *in, const struct inspect_group *g,
				      size_t i)
{
	return g->is_tokio ? in->tokio.tasks[g->first + i].addr
			   : in->table.frames[in->members[g->first + i]].addr;
}

static const struct described_wait *described_of_member(const struct inspection *in,
							const struct inspect_group *g, size_t i)
{
	return described_waits_find(&in->described, described_member_addr(in, g, i));
}

/* ---- coroutines ------------------------------------------------------------------------- */

const char *coroutine_function(struct inspection *in, uint64_t addr)
{
	uint32_t frame = frame_table_find(&in->table, addr);
	size_t i;

	if (frame != FRAME_NONE && in->table.frames[frame].addr == addr)
		return coro_types_get(in->types, in->table.frames[frame].type)->function;
	for (i = 0; i < in->tokio.nr; i++) {
		const struct tokio_task *task = &in->tokio.tasks[i];

		if (task->addr == addr && task->places->nr)
			return task->places->places[0]->function;
	}
	return NULL;
}

static bool coroutine_is_thread(const struct inspection *in, uint64_t number)
{
	size_t i;

	for (i = 0; i < in->image->nr_threads; i++) {
		if ((uint64_t)in->image->threads[i].tid == number)
			return true;
	}
	return false;
}

void print_coroutine(struct inspection *in, struct printer *p, uint64_t addr)
{
	const char *function = coroutine_function(in, addr);

	if (function) {
		print_safe(p, function, 0);
		print_text(p, " (%#llx)", (unsigned long long)addr);
	} else if (coroutine_is_thread(in, addr)) {
		print_text(p, "thread %llu", (unsigned long long)addr);
	} else {
		print_text(p, "%#llx", (unsigned long long)addr);
	}
}

/* ---- objects ----------------------------------------------------------------------------- */

/* An object that coroutines of the group wait for. */
struct awaited_object {
	const struct described_wait *wait; /* the first */
	size_t waiters;
};

static int awaited_by_object(const void *a, const void *b)
{
	const struct awaited_object *x = a, *y = b;
	uint64_t object = x->wait->value.object, other = y->wait->value.object;

	if (object != other)
		return object < other ? -1 : 1;
	return x->wait->coroutine < y->wait->coroutine ? -1 : 1;
}

/* Those with the most waiters first. */
static int awaited_by_waiters(const void *a, const void *b)
{
	const struct awaited_object *x = a, *y = b;

	if (x->waiters != y->waiters)
		return x->waiters > y->waiters ? -1 : 1;
	return x->wait->coroutine < y->wait->coroutine ? -1 : 1;
}

/* The objects of the group, for the caller to free; NULL: none, or no memory. */
static struct awaited_object *awaited_objects(const struct inspection *in,
					      const struct inspect_group *g, size_t *nr)
{
	struct awaited_object *list = calloc(g->count, sizeof(*list));
	size_t i, kept = 0;

	*nr = 0;
	for (i = 0; list && i < g->count; i++) {
		const struct described_wait *wait = described_of_member(in, g, i);

		if (wait && wait->value.object && wait->kind)
			list[(*nr)++] = (struct awaited_object){ wait, 1 };
	}
	if (*nr)
		qsort(list, *nr, sizeof(*list), awaited_by_object);
	for (i = 0; i < *nr; i++) {
		if (kept && list[kept - 1].wait->value.object == list[i].wait->value.object)
			list[kept - 1].waiters++;
		else
			list[kept++] = list[i];
	}
	*nr = kept;
	if (kept)
		qsort(list, kept, sizeof(*list), awaited_by_waiters);
	return list;
}

static void print_described_object(struct inspection *in, struct printer *p,
				   const struct described_wait *wait, size_t waiters)
{
	uint64_t holder = deadlock_holder(in, wait);
	char text[32];

	print_object(p, NULL);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)wait->value.object);
	print_text(p, "%s %s", wait->kind, text);
	print_string(p, "object", text);
	print_count(p, "waiters", NULL, waiters);
	if (waiters > 1)
		print_text(p, ", %zu of the group", waiters);
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)holder);
	print_string(p, "holder", holder ? text : NULL);
	if (holder) {
		print_text(p, ", held by ");
		print_coroutine(in, p, holder);
		print_string(p, "holder_function", coroutine_function(in, holder));
	}
	print_text(p, "\n");
	print_object_end(p);
}

void print_described_objects(struct inspection *in, struct printer *p,
			     const struct inspect_group *g)
{
	size_t i, nr, most = p->is_json ? OBJECTS_JSON : OBJECTS_SHOWN;
	struct awaited_object *list = awaited_objects(in, g, &nr);

	print_list(p, "objects");
	for (i = 0; i < nr && i < most; i++) {
		/* Of a task the kind was printed. */
		print_text(p, i || g->is_tokio ? "              " : "   waits for: ");
		print_described_object(in, p, list[i].wait, list[i].waiters);
	}
	print_list_end(p);
	if (i < nr)
		print_text(p, "              and %zu more\n", nr - i);
	free(list);
}

/* ---- timers ------------------------------------------------------------------------------ */

static int64_t described_clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The earliest deadline of the group; a core file has no now. */
static void print_described_deadline(struct inspection *in, struct printer *p,
				     const struct inspect_group *g)
{
	int64_t first = INT64_MAX;
	size_t i;

	for (i = 0; in->image->kind == IMAGE_RUNNING && i < g->count; i++) {
		const struct described_wait *wait = described_of_member(in, g, i);
		int64_t left;

		if (!wait || !wait->value.has_deadline)
			continue;
		left = wait->value.deadline_ns -
		       described_clock_now(wait->value.deadline_ns > REALTIME_FROM
						   ? CLOCK_REALTIME
						   : CLOCK_MONOTONIC);
		first = left < first ? left : first;
	}
	if (first == INT64_MAX)
		return;
	if (first >= 0)
		print_text(p, ", the first in %.1f s", (double)first / 1e9);
	else
		print_text(p, ", the first was due %.1f s ago", -(double)first / 1e9);
	if (p->is_json)
		print_integer(p, "due_in_ms", NULL, first / 1000000);
}

/* The coroutine that it joins, as for tasks of Tokio only if there is one. */
static void print_described_task(struct inspection *in, struct printer *p,
				 const struct inspect_group *g, const struct described_wait *wait)
{
	char text[32];

	if (!wait->value.task || g->count != 1)
		return;
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)wait->value.task);
	print_string(p, "task", text);
	print_text(p, " ");
	print_coroutine(in, p, wait->value.task);
}

bool print_described_wait(struct inspection *in, struct printer *p, const struct inspect_group *g)
{
	const struct described_wait *wait = NULL;
	size_t i;

	for (i = 0; i < g->count && !wait; i++)
		wait = described_of_member(in, g, i);
	if (!wait || !wait->kind)
		return false;
	print_object(p, "waits_for");
	print_string(p, "kind", wait->kind);
	print_string(p, "type", wait->value.type->name);
	print_flag(p, "certain", NULL, wait->is_certain);
	if (!wait->value.object) {
		print_text(p, "   waits for: %s", wait->kind);
		print_described_deadline(in, p, g);
		print_described_task(in, p, g, wait);
		print_text(p, "\n");
	}
	print_described_objects(in, p, g);
	print_object_end(p);
	return true;
}

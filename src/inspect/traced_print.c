/* SPDX-License-Identifier: MIT */
/* traced_print.c - print what the SDK told of the coroutines. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "inspect/inspection.h"
#include "inspect/traced_list.h"

#define SHOWN_PER_GROUP 3
#define SHOWN_REST      20

static void print_traced_site(struct printer *p, const char *key, const char *words,
			      const struct traced_site *site)
{
	if (!site->file) {
		print_string(p, key, NULL);
		return;
	}
	print_object(p, key);
	print_string(p, "function", site->function);
	print_string(p, "file", site->file);
	print_text(p, "%s", words);
	print_safe(p, site->file, 0);
	print_text(p, ":");
	print_number(p, "line", "%s", site->line);
	print_object_end(p);
}

static void print_traced_wait(struct printer *p, const struct traced_coroutine *c)
{
	print_string(p, "state", c->state);
	print_string(p, "reason", c->reason);
	print_text(p, ", %s", c->state ? c->state : "state unknown");
	if (c->reason)
		print_text(p, " (%s%s", c->reason, c->has_resource ? "" : ")");
	else if (c->has_resource)
		print_text(p, " (resource");
	print_known(p, "resource", c->has_resource ? " %s)" : NULL, c->has_resource, c->resource,
		    NULL);
	print_text(p, " for %.1f s", (double)c->state_ns / 1e9);
	print_count(p, "state_ns", NULL, c->state_ns);
}

/* The rest of an object that the caller has opened. */
static void print_traced_one(struct printer *p, const struct traced_coroutine *c)
{
	print_number(p, "id", "coroutine %s", c->id);
	print_string(p, "name", c->name);
	if (c->name) {
		print_text(p, " \"");
		print_safe(p, c->name, 40);
		print_text(p, "\"");
	}
	print_traced_wait(p, c);
	print_traced_site(p, "suspended_at", " at ", &c->suspended);
	print_count(p, "suspensions", ", suspended %s times", c->suspensions);
	print_traced_site(p, "created_at", ", created at ", &c->created);
	print_text(p, c->is_adopted ? ", adopted" : c->created.file ? "" : ", created");
	print_text(p, " %.1f s ago", (double)c->age_ns / 1e9);
	print_count(p, "age_ns", NULL, c->age_ns);
	print_flag(p, "adopted", NULL, c->is_adopted);
	print_known(p, "parent", c->parent ? ", by coroutine %s" : NULL, c->parent != 0, c->parent,
		    NULL);
	print_known(p, "last_waker",
		    c->has_waker && c->waker ? ", woken last by coroutine %s" : NULL, c->has_waker,
		    c->waker, NULL);
	if (c->has_waker && !c->waker)
		print_text(p, ", woken last by no coroutine");
	print_text(p, "\n");
}

struct traced_rows {
	struct printer *p;
	size_t printed;
};

static void print_traced_member(struct traced_rows *rows, uint64_t addr,
				const struct traced_coroutine *c)
{
	struct printer *p = rows->p;

	if (!p->is_json && rows->printed >= SHOWN_PER_GROUP) {
		rows->printed++;
		return;
	}
	print_object(p, NULL);
	print_text(p, rows->printed ? "           " : "   traced: ");
	print_address(p, "frame", NULL, addr);
	print_traced_one(p, c);
	print_object_end(p);
	rows->printed++;
}

/* All coroutines of the stack that begins with frame @at. */
static void print_traced_frames(struct inspection *in, struct traced_rows *rows, uint32_t at)
{
	const struct coro_frame *frames = in->table.frames;
	uint64_t number;
	uint32_t depth = in->levels[frames[at].stack - 1].depth;

	for (; at != FRAME_NONE && depth; at = frames[at].parent, depth--) {
		if (u64map_get(&in->traced->by_frame, at, &number))
			print_traced_member(rows, frames[at].addr, &in->traced->at[number - 1]);
	}
}

static void print_traced_task(struct inspection *in, struct traced_rows *rows, size_t task)
{
	uint64_t number = 0;

	u64map_get(&in->traced->by_task, task, &number);
	for (; number; number = in->traced->next_of_task[number - 1])
		print_traced_member(rows, in->tokio.tasks[task].addr, &in->traced->at[number - 1]);
}

/* ---- those that no collector knows -------------------------------------------------- */

#define LEVELS_SHOWN 64

/* Bit k: the frames at level k of the stacks of @g have the SDK's member. */
static uint64_t traced_levels(struct inspection *in, const struct inspect_group *g)
{
	uint32_t level = g->stack + 1, k;
	uint64_t bits = 0;

	for (k = 0; level && k < LEVELS_SHOWN; k++, level = in->levels[level - 1].parent) {
		if (traced_member_offset(coro_types_get(in->types, in->levels[level - 1].type)))
			bits |= UINT64_C(1) << k;
	}
	return bits;
}

static void print_untraced_frame(struct inspection *in, struct printer *p, uint32_t at)
{
	uint64_t number;
	char text[32];

	if (in->traced && u64map_get(&in->traced->by_frame, at, &number))
		return;
	snprintf(text, sizeof(text), "%#llx", (unsigned long long)in->table.frames[at].addr);
	jw_string(&p->json, text);
}

static void print_untraced(struct inspection *in, struct printer *p, const struct inspect_group *g)
{
	uint64_t bits = g->is_tokio || !p->is_json ? 0 : traced_levels(in, g);
	size_t i;

	if (!bits)
		return;
	print_list(p, "untraced");
	for (i = 0; i < g->count; i++) {
		uint32_t at = in->members[g->first + i], k;
		uint32_t depth = in->levels[g->stack].depth;

		for (k = 0; at != FRAME_NONE && k < depth && k < LEVELS_SHOWN; k++) {
			if (bits >> k & 1)
				print_untraced_frame(in, p, at);
			at = in->table.frames[at].parent;
		}
	}
	print_list_end(p);
}

void print_traced_group(struct inspection *in, struct printer *p, const struct inspect_group *g)
{
	struct traced_rows rows = { .p = p };
	size_t i;

	print_untraced(in, p, g);
	if (!in->traced)
		return;
	print_list(p, "traced");
	for (i = 0; i < g->count; i++) {
		if (g->is_tokio)
			print_traced_task(in, &rows, g->first + i);
		else
			print_traced_frames(in, &rows, in->members[g->first + i]);
	}
	print_list_end(p);
	if (rows.printed > SHOWN_PER_GROUP)
		print_text(p, "           and %zu more\n", rows.printed - SHOWN_PER_GROUP);
}

void print_traced_rest(struct inspection *in, struct printer *p)
{
	const struct traced_list *list = in->traced;
	size_t i, printed = 0, rest;

	if (!list) {
		print_string(p, "collector", NULL);
		return;
	}
	rest = list->nr - list->nr_joined;
	print_object(p, "collector");
	print_text(p, list->collector ? "\nA collector traces this program"
				      : "\nA collector that has ended traced this program");
	print_known(p, "pid", list->collector ? " (pid %s)" : NULL, list->collector != 0,
		    list->collector, NULL);
	print_string(p, "region", list->region);
	print_count(p, "coroutines", ": it knows %s coroutines", list->nr);
	print_count(p, "joined", ", %s of them were found above", list->nr_joined);
	print_text(p, "%s\n", rest ? ", and these in no frame or task:" : ".");
	print_list(p, "others");
	for (i = 0; i < list->nr; i++) {
		if (list->at[i].is_joined || (!p->is_json && printed == SHOWN_REST))
			continue;
		print_object(p, NULL);
		print_text(p, "   ");
		print_traced_one(p, &list->at[i]);
		print_object_end(p);
		printed++;
	}
	print_list_end(p);
	if (!p->is_json && rest > printed)
		print_text(p, "   and %zu more (--json)\n", rest - printed);
	print_object_end(p);
}

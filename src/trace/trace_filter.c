/* SPDX-License-Identifier: MIT */
/* trace_filter.c - return only a part of a trace. */
#include "trace/trace_filter.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what the user gave ------------------------------------------------------- */

bool trace_filter_parse_kinds(const char *text, unsigned *kinds)
{
	*kinds = 0;
	for (;;) {
		size_t size = strcspn(text, ",");
		int kind = size ? trace_kind_from_name(text, size) : -1;

		if (kind < 0)
			return false;
		*kinds |= 1u << kind;
		if (!text[size])
			return true;
		text += size + 1;
	}
}

static bool trace_filter_name_matches(const char *pattern, const char *name)
{
	const char *slash = strrchr(name, '/');

	return !fnmatch(pattern, name, 0) || (slash && !fnmatch(pattern, slash + 1, 0));
}

bool trace_filter_site_matches(const char *pattern, const struct trace_site *site)
{
	char *place = NULL;
	bool matches;

	if (site->function && !fnmatch(pattern, site->function, 0))
		return true;
	if (!site->file)
		return false;
	if (trace_filter_name_matches(pattern, site->file))
		return true;
	if (asprintf(&place, "%s:%" PRIu32, site->file, site->line) < 0)
		return false;
	matches = trace_filter_name_matches(pattern, place);
	free(place);
	return matches;
}

/* ---- what the trace says -------------------------------------------------------- */

/* Keeps the list in order. */
static void trace_filter_add_site(struct trace_filter *f, uint32_t id)
{
	size_t at = f->nr_sites;

	if (f->nr_sites == f->room) {
		size_t room = f->room ? f->room * 2 : 16;
		uint32_t *more = reallocarray(f->sites, room, sizeof(*more));

		f->no_memory |= !more;
		if (!more)
			return;
		f->sites = more;
		f->room = room;
	}
	while (at && f->sites[at - 1] > id)
		at--;
	if (at && f->sites[at - 1] == id)
		return;
	memmove(f->sites + at + 1, f->sites + at, (f->nr_sites - at) * sizeof(*f->sites));
	f->sites[at] = id;
	f->nr_sites++;
}

void trace_filter_note(struct trace_filter *f, const struct trace_item *item)
{
	if (f->parts && item->type == TRACE_ITEM_PROCESS)
		f->no_memory |= trace_parts_note(f->parts, item) < 0;
	if (item->type == TRACE_ITEM_SITE && f->site &&
	    trace_filter_site_matches(f->site, &item->site))
		trace_filter_add_site(f, item->site.id);
	if (f->has_start)
		return;
	if (item->type == TRACE_ITEM_RUN)
		f->start_ts = item->run.start_ts;
	else if (item->type == TRACE_ITEM_EVENT)
		f->start_ts = item->event.ts;
	else
		return;
	f->has_start = true;
}

static uint64_t trace_filter_time(const struct trace_filter *f, uint64_t ns)
{
	return ns > UINT64_MAX - f->start_ts ? UINT64_MAX : f->start_ts + ns;
}

uint64_t trace_filter_from(const struct trace_filter *f)
{
	return f->has_from && f->has_start ? trace_filter_time(f, f->from_ns) : 0;
}

uint64_t trace_filter_to(const struct trace_filter *f)
{
	return f->has_to && f->has_start ? trace_filter_time(f, f->to_ns) : UINT64_MAX;
}

/* ---- what passes ------------------------------------------------------------------ */

bool trace_filter_has_site(const struct trace_filter *f, uint32_t id)
{
	size_t low = 0, high = f->nr_sites;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->sites[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->nr_sites && f->sites[low] == id;
}

static bool trace_filter_overlaps(const struct trace_filter *f, uint64_t from_ts, uint64_t to_ts)
{
	return to_ts >= trace_filter_from(f) && from_ts <= trace_filter_to(f);
}

bool trace_fact_times(const struct trace_item *fact, uint64_t *from_ts, uint64_t *to_ts)
{
	switch (fact->type) {
	case TRACE_ITEM_CPU:
		*from_ts = fact->cpu.from_ts;
		*to_ts = fact->cpu.to_ts;
		return true;
	case TRACE_ITEM_DESCRIPTOR:
		*from_ts = fact->descriptor.from_ts;
		*to_ts = fact->descriptor.to_ts;
		return true;
	case TRACE_ITEM_SWITCH:
		*from_ts = fact->switched.from_ts;
		*to_ts = fact->switched.to_ts;
		return !fact->switched.state ||
		       strcmp(fact->switched.state, TRACE_SWITCH_RECORDED) != 0;
	case TRACE_ITEM_FRAME:
		*from_ts = *to_ts = fact->frame.ts;
		return fact->frame.type != NULL; /* otherwise it says what is lost */
	case TRACE_ITEM_MEMORY:
		*from_ts = fact->memory.from_ts;
		*to_ts = fact->memory.to_ts;
		return !fact->memory.file; /* otherwise it is about the whole run */
	default:
		return false;
	}
}

static bool trace_filter_fact_passes(const struct trace_filter *f, const struct trace_item *item)
{
	uint64_t from_ts, to_ts;

	return !trace_fact_times(item, &from_ts, &to_ts) ||
	       trace_filter_overlaps(f, from_ts, to_ts);
}

static bool trace_filter_has_coroutine(const struct trace_filter *f, uint64_t id)
{
	uint64_t unused;

	return (!f->has_coroutine || id == f->coroutine) &&
	       (!f->chosen || u64map_get(f->chosen, id, &unused));
}

static bool trace_filter_event_passes(const struct trace_filter *f, struct trace_event *ev)
{
	if (f->chosen && trace_is_of_resource(ev) && !trace_filter_has_coroutine(f, ev->probe_id))
		ev->probe_id = 0;
	else if (!trace_filter_has_coroutine(f, ev->probe_id))
		return false;
	return trace_filter_overlaps(f, ev->ts, ev->ts) &&
	       (!f->kinds || f->kinds >> ev->kind & 1) &&
	       (!f->site || trace_filter_has_site(f, ev->site));
}

/* The state of a coroutine at the end of the run: not shown if the range ends before. */
static bool trace_filter_coroutine_passes(const struct trace_filter *f,
					  const struct sidecar_coroutine *c)
{
	return !f->has_to && trace_filter_has_coroutine(f, c->probe_id) &&
	       (!f->site || trace_filter_has_site(f, c->site) ||
		trace_filter_has_site(f, c->birth_site));
}

/* The program went on after the end of the range. */
static void trace_filter_end(const struct trace_filter *f, struct sidecar_totals *totals)
{
	if (totals->end_ts <= trace_filter_to(f))
		return;
	totals->end_ts = trace_filter_to(f);
	totals->detached = true;
	totals->exit_status = TRACE_EXIT_DETACHED;
	totals->signal = 0;
}

/* The part is shown as a trace that was not merged. */
static bool trace_filter_part_passes(const struct trace_filter *f, struct trace_item *item)
{
	const struct trace_part *part = trace_parts_find(f->parts, f->part);

	if (item->type == TRACE_ITEM_PART || !part || !trace_parts_take(f->parts, part, item))
		return false;
	if (item->type == TRACE_ITEM_PROCESS)
		item->process.part = 0;
	return true;
}

bool trace_filter_passes(const struct trace_filter *f, struct trace_item *item)
{
	if (f->parts && !trace_filter_part_passes(f, item))
		return false;
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return trace_filter_event_passes(f, &item->event);
	case TRACE_ITEM_GAP:
		return trace_filter_overlaps(f, item->gap.from_ts, item->gap.to_ts);
	case TRACE_ITEM_DESCRIPTOR:
		return trace_filter_fact_passes(f, item) &&
		       (!item->descriptor.probe_id ||
			trace_filter_has_coroutine(f, item->descriptor.probe_id));
	case TRACE_ITEM_FRAME:
		return trace_filter_fact_passes(f, item) &&
		       (!item->frame.type || trace_filter_has_coroutine(f, item->frame.probe_id));
	case TRACE_ITEM_MEMORY:
		return trace_filter_fact_passes(f, item) &&
		       (item->memory.file || trace_filter_has_coroutine(f, item->memory.probe_id));
	case TRACE_ITEM_COROUTINE:
		return trace_filter_coroutine_passes(f, &item->coroutine);
	case TRACE_ITEM_TOTALS:
		trace_filter_end(f, &item->totals);
		return true;
	default:
		return trace_filter_fact_passes(f, item);
	}
}

void trace_filter_release(struct trace_filter *f)
{
	free(f->sites);
	f->sites = NULL;
	f->nr_sites = f->room = 0;
}

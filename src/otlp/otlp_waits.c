/* SPDX-License-Identifier: MIT */
/* otlp_waits.c - choose the slow waits of a trace, and write them as spans. */
#include "otlp/otlp_waits.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OTLP_NAMES_MAX 100000u /* names of coroutines may all differ */

void otlp_waits_init(struct otlp_waits *w, size_t per_site, uint64_t least_ns)
{
	memset(w, 0, sizeof(*w));
	wait_pairs_init(&w->pairs);
	w->per_site = per_site;
	w->least_ns = least_ns;
}

void otlp_waits_release(struct otlp_waits *w)
{
	size_t i;

	for (i = 0; i < w->nr_sites; i++) {
		free(w->sites[i].file);
		free(w->sites[i].function);
		free(w->sites[i].list);
	}
	free(w->sites);
	u64map_release(&w->numbers);
	u64map_release(&w->name_of);
	strtab_release(&w->names);
	wait_pairs_release(&w->pairs);
	context_table_release(&w->contexts);
	memset(w, 0, sizeof(*w));
}

uint64_t otlp_waits_time(const struct otlp_waits *w, uint64_t ts)
{
	return w->start_realtime + (ts > w->start_ts ? ts - w->start_ts : 0);
}

/* ---- sites ----------------------------------------------------------------------- */

static struct otlp_site *otlp_site_at(struct otlp_waits *w, uint32_t id)
{
	uint64_t *number = u64map_at(&w->numbers, id);
	struct otlp_site *more;
	size_t room = w->room ? 2 * w->room : 64;

	if (!number)
		return NULL;
	if (*number)
		return &w->sites[*number - 1];
	if (w->nr_sites == w->room) {
		more = reallocarray(w->sites, room, sizeof(*more));
		if (!more)
			return NULL;
		w->sites = more;
		w->room = room;
	}
	w->sites[w->nr_sites] = (struct otlp_site){ .id = id };
	*number = ++w->nr_sites;
	return &w->sites[w->nr_sites - 1];
}

/* An empty text becomes NULL. */
static int otlp_copy_text(char **to, const char *text)
{
	*to = text && *text ? strdup(text) : NULL;
	return *to || !text || !*text ? 0 : -ENOMEM;
}

static int otlp_add_site(struct otlp_waits *w, const struct trace_site *told)
{
	struct otlp_site *site = otlp_site_at(w, told->id);

	if (!site)
		return -ENOMEM;
	if (site->file || site->function)
		return 0;
	site->line = told->line;
	if (otlp_copy_text(&site->file, told->file) < 0)
		return -ENOMEM;
	return otlp_copy_text(&site->function, told->function);
}

/* ---- the slowest waits ------------------------------------------------------------- */

/* True: @a is to be dropped before @b.  Of equal waits the earliest ones stay. */
static bool otlp_is_less(const struct otlp_wait *a, const struct otlp_wait *b)
{
	if (a->ns != b->ns)
		return a->ns < b->ns;
	if (a->pair.ts != b->pair.ts)
		return a->pair.ts > b->pair.ts;
	return a->pair.probe_id > b->pair.probe_id;
}

static void otlp_swap(struct otlp_wait *a, struct otlp_wait *b)
{
	struct otlp_wait other = *a;

	*a = *b;
	*b = other;
}

static void otlp_heap_up(struct otlp_wait *list, size_t at)
{
	while (at && otlp_is_less(&list[at], &list[(at - 1) / 2])) {
		otlp_swap(&list[at], &list[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

static void otlp_heap_down(struct otlp_wait *list, size_t nr)
{
	size_t at = 0, least;

	for (;;) {
		least = at;
		if (2 * at + 1 < nr && otlp_is_less(&list[2 * at + 1], &list[least]))
			least = 2 * at + 1;
		if (2 * at + 2 < nr && otlp_is_less(&list[2 * at + 2], &list[least]))
			least = 2 * at + 2;
		if (least == at)
			return;
		otlp_swap(&list[at], &list[least]);
		at = least;
	}
}

static int otlp_keep(struct otlp_waits *w, struct otlp_site *site, const struct otlp_wait *wait)
{
	if (!site->list) {
		site->list = calloc(w->per_site, sizeof(*site->list));
		if (!site->list)
			return -ENOMEM;
	}
	if (site->nr < w->per_site) {
		site->list[site->nr] = *wait;
		otlp_heap_up(site->list, site->nr++);
		w->chosen++;
	} else if (otlp_is_less(&site->list[0], wait)) {
		site->list[0] = *wait;
		otlp_heap_down(site->list, site->nr);
	}
	return 0;
}

static void otlp_on_wait(void *ctx, const struct wait_pair *pair)
{
	struct otlp_waits *w = ctx;
	struct otlp_wait wait = { .pair = *pair };
	struct otlp_site *site = otlp_site_at(w, pair->site);
	const struct trace_context *context;
	uint64_t end = pair->end_ts ? pair->end_ts : w->last_ts, name;

	if (!site) {
		w->error = -ENOMEM;
		return;
	}
	site->waits++;
	w->waits++;
	wait.ns = end > pair->ts ? end - pair->ts : 0;
	if (pair->state == WAIT_LOST || wait.ns < w->least_ns)
		return;
	site->slow++;
	w->slow++;
	context = context_table_find(&w->contexts, pair->probe_id);
	if (context)
		wait.context = *context;
	if (u64map_get(&w->name_of, pair->probe_id, &name))
		wait.name = (uint32_t)name;
	if (otlp_keep(w, site, &wait) < 0)
		w->error = -ENOMEM;
}

/* ---- items ------------------------------------------------------------------------- */

static int otlp_add_name(struct otlp_waits *w, const struct trace_event *ev)
{
	char name[128];
	int64_t number;

	if (!ev->name_size || u64map_count(&w->name_of) >= OTLP_NAMES_MAX)
		return 0;
	snprintf(name, sizeof(name), "%.*s", (int)ev->name_size, ev->name);
	number = strtab_intern(&w->names, name);
	return number < 0 ? -ENOMEM : u64map_put(&w->name_of, ev->probe_id, (uint64_t)number + 1);
}

static int otlp_add_event(struct otlp_waits *w, const struct trace_event *ev)
{
	int rc = 0;

	if (ev->ts > w->last_ts)
		w->last_ts = ev->ts;
	/* A wait has the context that the coroutine had before this event. */
	if (wait_pairs_event(&w->pairs, ev, otlp_on_wait, w) < 0 ||
	    context_table_event(&w->contexts, ev) < 0)
		return -ENOMEM;
	if (ev->kind == TRACE_BIRTH)
		rc = otlp_add_name(w, ev);
	else if (coro_event_destroys(ev))
		u64map_remove(&w->name_of, ev->probe_id);
	return rc < 0 ? rc : w->error;
}

int otlp_waits_add(struct otlp_waits *w, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_EVENT:
		return otlp_add_event(w, &item->event);
	case TRACE_ITEM_SITE:
		return otlp_add_site(w, &item->site);
	case TRACE_ITEM_GAP:
		wait_pairs_gap(&w->pairs, &item->gap);
		return 0;
	case TRACE_ITEM_RUN:
		w->start_ts = item->run.start_ts;
		w->start_realtime = item->run.start_realtime;
		w->run = otlp_hash(item->run.start_realtime,
				   item->run.hostname ? item->run.hostname : "", item->run.pid,
				   item->run.start_ts);
		return 0;
	case TRACE_ITEM_TOTALS:
		if (item->totals.end_ts > w->last_ts)
			w->last_ts = item->totals.end_ts;
		return 0;
	default:
		return 0;
	}
}

static int otlp_compare_waits(const void *a, const void *b)
{
	const struct otlp_wait *x = a, *y = b;

	if (x->pair.ts != y->pair.ts)
		return x->pair.ts < y->pair.ts ? -1 : 1;
	return x->pair.probe_id < y->pair.probe_id ? -1 : x->pair.probe_id > y->pair.probe_id;
}

int otlp_waits_finish(struct otlp_waits *w)
{
	size_t i;

	if (wait_pairs_finish(&w->pairs, otlp_on_wait, w) < 0 || w->error)
		return -ENOMEM;
	for (i = 0; i < w->nr_sites; i++) {
		if (w->sites[i].nr)
			qsort(w->sites[i].list, w->sites[i].nr, sizeof(*w->sites[i].list),
			      otlp_compare_waits);
	}
	return 0;
}

/* ---- spans ------------------------------------------------------------------------- */

static const struct otlp_site *otlp_find_site(const struct otlp_waits *w, uint32_t id)
{
	uint64_t number;

	return id && u64map_get(&w->numbers, id, &number) ? &w->sites[number - 1] : NULL;
}

static void otlp_put_wake(const struct otlp_waits *w, const struct wait_pair *p,
			  struct otlp_batch *b)
{
	const struct otlp_site *from = otlp_find_site(w, p->wake_site);

	otlp_event_begin(b, otlp_waits_time(w, p->woken_ts), "wake");
	if (p->waker)
		otlp_number(b, "corotracer.waker.id", p->waker);
	if (from)
		otlp_place(b, from->file, from->line, from->function);
	otlp_event_end(b);
}

static void otlp_put_wait_attributes(const struct otlp_waits *w, const struct otlp_site *site,
				     const struct otlp_wait *wait, struct otlp_batch *b)
{
	const struct wait_pair *p = &wait->pair;

	otlp_place(b, site->file, site->line, site->function);
	otlp_number(b, "corotracer.coroutine.id", p->probe_id);
	if (wait->name)
		otlp_text(b, "corotracer.coroutine.name", strtab_text(&w->names, wait->name - 1));
	otlp_text(b, "corotracer.wait.reason", trace_reason_name(p->reason));
	otlp_text(b, "corotracer.wait.state", wait_state_name(p->state));
	if (p->has_resource)
		otlp_number(b, "corotracer.wait.resource", p->resource);
	if (p->woken_ts && p->end_ts >= p->woken_ts)
		otlp_number(b, "corotracer.wait.ready_ns", p->end_ts - p->woken_ts);
	otlp_number(b, "thread.id", p->tid);
	otlp_number(b, "corotracer.site.waits", site->waits);
	otlp_number(b, "corotracer.site.slow", site->slow);
	otlp_number(b, "corotracer.site.exported", site->nr);
}

void otlp_waits_put(const struct otlp_waits *w, const struct otlp_site *site,
		    const struct otlp_wait *wait, struct otlp_batch *b)
{
	const struct wait_pair *p = &wait->pair;
	const char *reason = trace_reason_name(p->reason);
	char name[256];
	struct otlp_span span = {
		.trace_high = wait->context.trace_high,
		.trace_low = wait->context.trace_low,
		.span = otlp_hash(w->run, "wait", p->probe_id, p->ts),
		.parent = wait->context.span,
		.name = name,
		.start_ns = otlp_waits_time(w, p->ts),
	};

	snprintf(name, sizeof(name), "wait%s%s%s%s", p->reason && reason ? " " : "",
		 p->reason && reason ? reason : "", site->function ? " in " : "",
		 site->function ? site->function : "");
	span.end_ns = span.start_ns + wait->ns;
	if (!span.parent) {
		span.trace_high = otlp_hash(w->run, "trace", p->probe_id, p->ts);
		span.trace_low = otlp_hash(w->run, "low", p->probe_id, p->ts);
	}
	otlp_span_begin(b, &span);
	otlp_put_wait_attributes(w, site, wait, b);
	if (p->woken_ts)
		otlp_put_wake(w, p, b);
	otlp_span_end(b);
}

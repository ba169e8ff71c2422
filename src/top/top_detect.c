/* SPDX-License-Identifier: MIT */
/* top_detect.c - the detector of deadlocks of `report`, over one picture. */
#include "top/top_detect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"

struct top_detection {
	struct analysis *analysis;
	void (*found)(void *arg, const char *text);
	void *arg;
};

/* ---- the picture as events --------------------------------------------------------- */

static int detect_add_event(struct analysis *a, const struct trace_event *ev)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	item.event = *ev;
	return analysis_add(a, &item);
}

/* Only these waits name who can end them. */
static bool detect_needs_row(const struct top_row *row)
{
	const struct sidecar_coroutine *co = &row->c->co;

	return row->state == TRACE_STATE_SUSPENDED && co->has_resource &&
	       (co->reason == TRACE_REASON_JOIN || co->reason == TRACE_REASON_MUTEX ||
		co->reason == TRACE_REASON_SEMAPHORE);
}

static int detect_add_birth(struct analysis *a, const struct recover_coroutine *c)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = TRACE_BIRTH;
	ev.flags = TRACE_ADOPTED;
	ev.probe_id = c->co.probe_id;
	ev.pid = (uint32_t)c->co.pid;
	ev.ts = c->co.birth_ts && c->co.birth_ts < c->co.since_ts ? c->co.birth_ts : c->co.since_ts;
	ev.name = c->name;
	ev.name_size = (uint32_t)strlen(c->name);
	return detect_add_event(a, &ev);
}

static int detect_add_suspend(struct analysis *a, const struct recover_coroutine *c)
{
	struct trace_event ev;

	trace_event_init(&ev);
	ev.kind = TRACE_SUSPEND;
	ev.probe_id = c->co.probe_id;
	ev.ts = c->co.since_ts;
	ev.tid = c->tid;
	ev.site = c->co.site;
	ev.addr = c->co.addr;
	ev.reason = c->co.reason;
	ev.flags = TRACE_HAS_RESOURCE;
	ev.resource = c->co.resource;
	return detect_add_event(a, &ev);
}

static int detect_compare_times(const void *a, const void *b)
{
	const struct recover_event *const *x = a, *const *y = b;

	return ((*x)->ev.ts > (*y)->ev.ts) - ((*x)->ev.ts < (*y)->ev.ts);
}

/* Acquires and releases of all threads, in the order of time. */
static int detect_add_locks(struct analysis *a, const struct recover *r)
{
	const struct recover_event **all;
	size_t i, nr = 0, room = 0;
	uint32_t k;
	int rc = 0;

	for (i = 0; i < r->nr_threads; i++)
		room += r->threads[i].nr_last;
	all = calloc(room + 1, sizeof(struct recover_event *));
	if (!all)
		return -ENOMEM;
	for (i = 0; i < r->nr_threads; i++) {
		for (k = 0; k < r->threads[i].nr_last; k++) {
			if (trace_is_of_resource(&r->threads[i].last[k].ev))
				all[nr++] = &r->threads[i].last[k];
		}
	}
	qsort(all, nr, sizeof(struct recover_event *), detect_compare_times);
	for (i = 0; i < nr && rc >= 0; i++)
		rc = detect_add_event(a, &all[i]->ev);
	free(all);
	return rc;
}

static int detect_add_rows(struct analysis *a, const struct top_picture *p)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < p->nr && rc >= 0; i++) {
		if (!detect_needs_row(&p->rows[i]))
			continue;
		rc = detect_add_birth(a, p->rows[i].c);
		if (rc >= 0)
			rc = detect_add_suspend(a, p->rows[i].c);
	}
	return rc;
}

/* ---- findings ------------------------------------------------------------------------ */

static int detect_look(void *arg)
{
	const struct top_detection *d = arg;
	const struct findings *all = &d->analysis->findings;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		const struct group *g = &all->groups[i];

		if (g->confidence >= CONFIDENCE_STRONG && !strcmp(g->detector->name, "deadlock"))
			d->found(d->arg, g->finding.detail);
	}
	return 0;
}

int top_detect_deadlocks(const struct top_picture *p, void (*found)(void *arg, const char *text),
			 void *arg)
{
	struct top_detection d = { .analysis = analysis_new(NULL), .found = found, .arg = arg };
	struct trace_item run;
	int rc;

	if (!d.analysis)
		return -ENOMEM;
	trace_item_init(&run, TRACE_ITEM_RUN);
	rc = analysis_add(d.analysis, &run);
	if (rc >= 0)
		rc = detect_add_locks(d.analysis, &p->r);
	if (rc >= 0)
		rc = detect_add_rows(d.analysis, p);
	if (rc >= 0)
		rc = analysis_peek(d.analysis, p->moment, detect_look, &d);
	analysis_free(d.analysis);
	return rc;
}

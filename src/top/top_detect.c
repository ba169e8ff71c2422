/* SPDX-License-Identifier: MIT */
/* top_detect.c - detectors of `report`, over one picture. */
#include "top/top_detect.h"

#include <errno.h>
#include <string.h>

#include "analyze/analysis.h"
#include "top/top_events.h"

struct top_detection {
	struct analysis *analysis;
	void (*found)(void *arg, const struct top_finding *finding);
	void *arg;
};

static int detect_add_all(struct analysis *a, const struct top_events *e)
{
	struct trace_item item;
	size_t i;
	int rc;

	trace_item_init(&item, TRACE_ITEM_RUN);
	rc = analysis_add(a, &item);
	for (i = 0; i < e->nr && rc >= 0; i++) {
		trace_item_init(&item, TRACE_ITEM_EVENT);
		item.event = e->at[i];
		rc = analysis_add(a, &item);
	}
	return rc;
}

/* The limits of the detectors depend on the length of the run, not of the picture. */
static void detect_set_begin(struct analysis *a, const struct top_picture *p)
{
	uint64_t begin = p->up_ns < p->moment ? p->moment - p->up_ns : p->moment;

	if (a->model.first_ts > begin)
		a->model.first_ts = begin;
}

/*
 * A deadlock may be two that have not released a lock yet, unless it is certain.  Of the others a
 * suspicion is shown: without times on a processor it is all that they have.
 */
static bool detect_is_shown(const struct group *g)
{
	if (g->detector == &detector_deadlock)
		return g->confidence >= CONFIDENCE_STRONG;
	return g->confidence >= CONFIDENCE_SUSPECT &&
	       (g->detector == &detector_never_yielded || g->detector == &detector_starvation ||
		g->detector == &detector_unfair_order);
}

static int detect_look(void *arg)
{
	const struct top_detection *d = arg;
	const struct findings *all = &d->analysis->findings;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		const struct group *g = &all->groups[i];
		uint32_t name = g->has_coro ? g->example.name : 0;
		struct top_finding f = {
			.detector = g->detector->name,
			.detail = g->finding.detail,
			.nr = g->count,
			.longest_ns = g->oldest_ns,
			.id = g->has_coro ? g->example.probe_id : 0,
			.name = name ? strtab_text(&d->analysis->model.names, name - 1) : "",
			.is_sure = g->confidence >= CONFIDENCE_STRONG,
		};

		if (detect_is_shown(g))
			d->found(d->arg, &f);
	}
	return 0;
}

int top_detect(const struct top_picture *p,
	       void (*found)(void *arg, const struct top_finding *finding), void *arg)
{
	struct top_detection d = { .analysis = analysis_new(NULL), .found = found, .arg = arg };
	struct top_events events = { 0 };
	int rc = d.analysis ? top_events_make(&events, p) : -ENOMEM;

	if (rc >= 0)
		rc = detect_add_all(d.analysis, &events);
	if (rc >= 0) {
		detect_set_begin(d.analysis, p);
		rc = analysis_peek(d.analysis, p->moment, detect_look, &d);
	}
	top_events_release(&events);
	analysis_free(d.analysis);
	return rc;
}

/* SPDX-License-Identifier: MIT */
/*
 * analysis_bed.h - findings of a hand-made trace: events are added one by one, in order.
 *
 * Times are in milliseconds after the first one.  A trace of the collector: what is not in it did
 * not happen, unless a test says that events are missing.
 */
#ifndef ANALYSIS_BED_H
#define ANALYSIS_BED_H

#include "analyze/analysis.h"
#include "check.h"

#define BED_MS(ms) (1000 * MODEL_S + (uint64_t)((ms)*1e6))

static struct analysis *bed_begin(const struct analysis_options *options)
{
	struct analysis *a = analysis_new(options);
	struct trace_item item;

	CHECK(a);
	trace_item_init(&item, TRACE_ITEM_RUN);
	CHECK_EQ(analysis_add(a, &item), 0);
	return a;
}

/* The number of the thread is 7, unless it is set; a resource that is set counts. */
static void bed_add(struct analysis *a, unsigned kind, double ms, struct trace_event ev)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	item.event = ev;
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.ts = BED_MS(ms);
	item.event.tid = ev.tid ? ev.tid : 7;
	item.event.seq = kind <= TRACE_RESUME ? 2 : 0;
	item.event.station = TRACE_NO_STATION;
	item.event.name_size = ev.name ? (uint32_t)strlen(ev.name) : 0;
	if (ev.resource)
		item.event.flags |= TRACE_HAS_RESOURCE;
	CHECK_EQ(analysis_add(a, &item), 0);
}

#define BED_ADD(a, kind, ms, ...) bed_add(a, TRACE_##kind, ms, (struct trace_event){ __VA_ARGS__ })

/* The program ended by itself, or by @signal. */
static void bed_end(struct analysis *a, double ms, int signal)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.complete = true;
	item.totals.signal = signal;
	item.totals.end_ts = BED_MS(ms);
	CHECK_EQ(analysis_add(a, &item), 0);
	CHECK_EQ(analysis_finish(a, NULL), 0);
}

/* The collector counted what @id wrote, and lost @lost of it. */
static inline void bed_counted(struct analysis *a, uint64_t id, uint64_t lost)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_COROUTINE);
	item.coroutine.probe_id = id;
	item.coroutine.station = TRACE_NO_STATION;
	item.coroutine.written = 100;
	item.coroutine.lost = lost;
	CHECK_EQ(analysis_add(a, &item), 0);
}

/* The group of the detector with the highest confidence; NULL: it found nothing. */
static const struct group *bed_group(const struct analysis *a, const char *detector)
{
	const struct group *best = NULL;
	size_t i;

	for (i = 0; i < a->findings.nr; i++) {
		const struct group *g = &a->findings.groups[i];

		if (!strcmp(g->detector->name, detector) &&
		    (!best || g->confidence > best->confidence))
			best = g;
	}
	return best;
}

static inline void bed_found(struct analysis *a, const char *detector, enum confidence confidence,
			     const char *detail)
{
	const struct group *g = bed_group(a, detector);
	size_t i;

	if (!g) {
		fprintf(stderr, "%s found nothing\n", detector);
		for (i = 0; i < a->findings.nr; i++)
			fprintf(stderr, "but %s: %s\n", a->findings.groups[i].detector->name,
				a->findings.groups[i].finding.detail);
		exit(1);
	}
	CHECK_EQ(g->confidence, confidence);
	if (!strstr(g->finding.detail, detail)) {
		fprintf(stderr, "'%s' is not in: %s\n", detail, g->finding.detail);
		exit(1);
	}
	analysis_free(a);
}

static inline void bed_found_none(struct analysis *a, const char *detector)
{
	const struct group *g = bed_group(a, detector);

	if (g) {
		fprintf(stderr, "%s found: %s\n", detector, g->finding.detail);
		exit(1);
	}
	analysis_free(a);
}

#endif

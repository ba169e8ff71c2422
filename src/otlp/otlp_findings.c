/* SPDX-License-Identifier: MIT */
/* otlp_findings.c - write the findings of a report as spans, with their evidence as events. */
#include "otlp/otlp_findings.h"

#include <stdio.h>

/* From the begin of the state that the example is in, to the time of the finding. */
static void otlp_finding_times(const struct report *r, const struct group *g,
			       const struct otlp_waits *w, struct otlp_span *span)
{
	uint64_t end = g->finding.ts ? g->finding.ts : r->analysis->model.end_ts, start = end;

	if (g->has_coro && g->example.since_ts && g->example.since_ts < end)
		start = g->example.since_ts;
	span->start_ns = otlp_waits_time(w, start);
	span->end_ns = otlp_waits_time(w, end);
}

static void otlp_finding_set_ids(const struct report *r, const struct group *g,
				 const struct otlp_waits *w, const char *place,
				 struct otlp_span *span)
{
	const struct trace_context *context =
		g->has_coro ? context_table_find(&r->analysis->model.contexts, g->example.probe_id)
			    : NULL;
	uint64_t which = otlp_hash(w->run, place, g->spawn, 0);

	span->span = otlp_hash(which, g->detector->name, 0, 0);
	if (context) {
		span->trace_high = context->trace_high;
		span->trace_low = context->trace_low;
		span->parent = context->span;
		return;
	}
	span->trace_high = otlp_hash(which, g->detector->name, 1, 0);
	span->trace_low = otlp_hash(which, g->detector->name, 2, 0);
}

static void otlp_finding_evidence(const struct report *r, const struct group *g, uint64_t at_ns,
				  struct otlp_batch *b)
{
	char text[EVIDENCE_TEXT + 600];
	unsigned i;

	for (i = 0; report_evidence(r, g, i, text, sizeof(text)); i++) {
		otlp_event_begin(b, at_ns, "evidence");
		otlp_text(b, "corotracer.evidence", text);
		otlp_event_end(b);
	}
}

void otlp_finding_put(const struct report *r, const struct group *g, const struct otlp_waits *w,
		      struct otlp_batch *b)
{
	struct report_place place = { .text = "" };
	struct otlp_span span = { 0 };
	char name[96];

	report_group_place(r, g, &place);
	snprintf(name, sizeof(name), "finding %s", g->detector->name);
	span.name = name;
	otlp_finding_times(r, g, w, &span);
	otlp_finding_set_ids(r, g, w, place.text, &span);
	otlp_span_begin(b, &span);
	otlp_place(b, place.file, place.file ? place.line : 0, place.function);
	otlp_text(b, "corotracer.finding.detector", g->detector->name);
	otlp_text(b, "corotracer.finding.title", g->detector->title);
	otlp_text(b, "corotracer.finding.confidence", confidence_name(g->confidence));
	otlp_text(b, "corotracer.finding.detail", g->finding.detail);
	otlp_text(b, "corotracer.finding.hint", report_hint(g));
	otlp_text(b, "corotracer.finding.place", place.text);
	otlp_number(b, "corotracer.finding.count", g->count);
	if (g->has_coro) {
		otlp_number(b, "corotracer.coroutine.id", g->example.probe_id);
		otlp_text(b, "corotracer.coroutine.name",
			  model_name(&r->analysis->model, &g->example));
	}
	otlp_finding_evidence(r, g, span.end_ns, b);
	if (g->confidence >= CONFIDENCE_STRONG)
		otlp_set_error(b, g->detector->title);
	otlp_span_end(b);
}

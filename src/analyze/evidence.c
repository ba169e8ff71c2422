/* SPDX-License-Identifier: MIT */
/*
 * evidence.c - what the trace shows about a wait: its resource, who wakes it, its earlier waits.
 *
 * The lines are the same for every detector: they let the reader judge a finding, and do not decide
 * whether there is one.
 */
#include <inttypes.h>
#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"
#include "base/number.h"

const char *evidence_who(const struct model *m, uint64_t id, uint32_t name, char buf[EVIDENCE_WHO])
{
	const struct coro *co = id ? model_find(m, id) : NULL;
	const struct touch *gone = id && !co ? model_departed(m, id) : NULL;

	if (!id)
		return "code outside of all coroutines";
	if (!name)
		name = co ? co->name : gone ? gone->name : 0;
	if (name)
		snprintf(buf, EVIDENCE_WHO, "coroutine %" PRIu64 " '%.60s'", id,
			 strtab_text(&m->names, name - 1));
	else
		snprintf(buf, EVIDENCE_WHO, "coroutine %" PRIu64, id);
	return buf;
}

const char *evidence_what(const struct coro *co, char buf[EVIDENCE_WHAT])
{
	const char *reason = co->reason ? trace_reason_name(co->reason) : "resource";

	if (co->reason >= TRACE_REASON_IO_READ && co->reason <= TRACE_REASON_CONNECT)
		reason = "descriptor";
	if (!co->has_resource)
		snprintf(buf, EVIDENCE_WHAT, "%s", reason);
	else if (co->resource < 65536)
		snprintf(buf, EVIDENCE_WHAT, "%s %" PRIu64, reason, co->resource);
	else
		snprintf(buf, EVIDENCE_WHAT, "%s 0x%" PRIx64, reason, co->resource);
	return buf;
}

static double evidence_ago(const struct model *m, uint64_t ts)
{
	return m->end_ts > ts ? (double)(m->end_ts - ts) / 1e6 : 0;
}

/* "it has ended", "it waits (timer)" */
static const char *evidence_state(const struct model *m, uint64_t id, char *buf, size_t size)
{
	const struct coro *co = model_find(m, id);

	if (!co || co->state == TRACE_STATE_ENDED)
		return "it has ended";
	if (co->state == TRACE_STATE_RUNNING)
		return "it is running";
	if (co->state == TRACE_STATE_NEW)
		return "it has not run";
	snprintf(buf, size, "it %s (%s)", co->woken_since ? "was woken" : "waits",
		 trace_reason_name(co->reason));
	return buf;
}

static void evidence_holders(const struct model *m, struct finding *f,
			     const struct resource_use *use)
{
	char who[EVIDENCE_WHO], state[64];
	uint32_t i;

	for (i = 0; i < use->nr_holders && i < 3; i++) {
		const struct touch *t = &use->holders[i];

		finding_add_evidence_at(
			f, EVIDENCE_HOLDER, t->site, 0, "%s holds it for %.3f ms; %s; it was taken",
			evidence_who(m, t->id, t->name, who), evidence_ago(m, t->ts),
			t->id ? evidence_state(m, t->id, state, sizeof(state)) : "not a coroutine");
	}
	if (use->nr_holders + use->more_holders > 3)
		finding_add_evidence(f, "%u more hold%s it",
				     use->nr_holders + use->more_holders - 3,
				     use->nr_holders + use->more_holders == 4 ? "s" : "");
	if (!use->nr_holders && use->released.ts)
		finding_add_evidence_at(f, EVIDENCE_HOLDER, use->released.site, 0,
					"it is free; %s released it %.3f ms before the end",
					evidence_who(m, use->released.id, use->released.name, who),
					evidence_ago(m, use->released.ts));
}

static void evidence_resource(const struct model *m, struct finding *f, const struct coro *co)
{
	const struct resource_use *use = tables_use(m, co);
	char who[EVIDENCE_WHO];

	if (!use)
		return;
	if (use->closed.ts > co->since_ts)
		finding_add_evidence_at(f, EVIDENCE_RESOURCE, use->closed.site, 0,
					"%s closed it %.3f ms before the end",
					evidence_who(m, use->closed.id, use->closed.name, who),
					evidence_ago(m, use->closed.ts));
	if (tables_holders(m, co))
		evidence_holders(m, f, use);
}

/* Who else woke waiters of the same channel, for a coroutine that was never woken there. */
static void evidence_partners(const struct model *m, struct finding *f, const struct coro *co)
{
	const struct resource_use *use = tables_partners(m, co);
	char who[EVIDENCE_WHO], state[64];
	unsigned i;

	for (i = 0; use && i < use->nr_partners && i < 2; i++) {
		const struct touch *t = &use->partners[i];

		finding_add_evidence_at(f, EVIDENCE_RESOURCE, t->site, 0,
					"%s used its other side %.3f ms before the end; %s",
					evidence_who(m, t->id, t->name, who),
					evidence_ago(m, t->ts),
					evidence_state(m, t->id, state, sizeof(state)));
	}
}

static void evidence_waker(const struct model *m, struct finding *f, const struct coro *co)
{
	const struct wake_source *w = model_waker(co);
	char who[EVIDENCE_WHO], state[64];

	if (!w) {
		evidence_partners(m, f, co);
		return;
	}
	if (co->wakes == 1) {
		finding_add_evidence_at(
			f, EVIDENCE_WAKER, w->site, 0,
			"its only wake came from %s%s%s%s, %.3f ms before the end",
			evidence_who(m, w->last_id, 0, who), w->last_id ? " (" : "",
			w->last_id ? evidence_state(m, w->last_id, state, sizeof(state)) : "",
			w->last_id ? ")" : "", evidence_ago(m, w->last_ts));
		return;
	}
	finding_add_evidence_at(f, EVIDENCE_WAKER, w->site, 0,
				"%s%u of its %" PRIu64
				" wakes came from %s%s%s%s%s, the last %.3f ms before the end",
				w->is_least ? "at least " : "", w->nr, co->wakes,
				w->is_mixed ? "coroutines of one kind, the last from " : "",
				evidence_who(m, w->last_id, 0, who), w->last_id ? " (" : "",
				w->last_id ? evidence_state(m, w->last_id, state, sizeof(state))
					   : "",
				w->last_id ? ")" : "", evidence_ago(m, w->last_ts));
}

static void evidence_context(const struct model *m, struct finding *f, const struct coro *co)
{
	const struct trace_context *c = context_table_find(&m->contexts, co->probe_id);
	char text[TRACE_CONTEXT_TEXT];

	if (!c)
		return;
	trace_context_format(c, text);
	finding_add_evidence(f, "it works for traceparent %s", text);
}

void evidence_add(const struct analysis *a, struct finding *f, const struct coro *co)
{
	const struct model *m = &a->model;
	const struct rhythm *r = model_rhythm(co);

	if (co->state != TRACE_STATE_SUSPENDED)
		return;
	evidence_resource(m, f, co);
	evidence_context(m, f, co);
	evidence_waker(m, f, co);
	if (r && r->nr == 1)
		finding_add_evidence(f, "it waited here once before, for %.3f ms; now %.3f ms",
				     (double)r->longest_ns / 1e6,
				     (double)model_waited(m, co) / 1e6);
	else if (r)
		finding_add_evidence(f,
				     "it waited here %u times before, at most %.3f ms; now %.3f ms",
				     r->nr, (double)r->longest_ns / 1e6,
				     (double)model_waited(m, co) / 1e6);
}

/* SPDX-License-Identifier: MIT */
/* analysis.c - turn the items of a finished trace into findings. */
#include "analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

/* ---- findings ------------------------------------------------------------ */

void finding_report(struct analysis *a, struct finding *f)
{
	bool is_example;
	struct group *g;

	if (a->options.chosen && !f->is_of_chosen &&
	    (!f->co || !analysis_chooses(a, f->co->probe_id)))
		return;
	if (!f->seen_ts)
		f->seen_ts = a->model.end_ts ? a->model.end_ts : a->model.last_ts;
	g = findings_add(&a->findings, f, &is_example);
	a->no_memory |= a->findings.no_memory || a->findings.affected.no_memory;
	if (g && is_example && g->has_coro) {
		g->nr_chain = finding_chain(&a->model, &g->example, g->chain);
		/* The lines are about the end of the run. */
		if (g->detector->on_stuck && a->model.end_ts)
			evidence_add(a, &g->finding, &g->example);
	}
	if (a->observer.found)
		a->observer.found(a->observer.arg, f);
}

void finding_add_affected(struct analysis *a, const struct finding *f, const struct coro *co)
{
	findings_add_affected(&a->findings, f, co);
	a->no_memory |= a->findings.affected.no_memory;
}

/* ---- events -------------------------------------------------------------- */

static void analysis_leaving(void *arg, struct coro *co)
{
	struct analysis *a = arg;
	const struct detector *const *d;

	for (d = detectors; *d; d++) {
		if ((*d)->on_leave)
			(*d)->on_leave(a, co);
	}
}

static void analysis_transition(void *arg, struct coro *co, const struct trace_event *ev)
{
	struct analysis *a = arg;
	transition_hook *const *hook = ev->is_active ? a->on_resume : a->on_suspend;

	for (; *hook; hook++)
		(*hook)(a, co, ev);
	a->no_memory |= sched_add_transition(a, co, ev) < 0;
}

static void analysis_other(void *arg, struct coro *co, const struct trace_event *ev)
{
	struct analysis *a = arg;

	if (ev->kind == TRACE_END || ev->kind == TRACE_DESTROY)
		slice_watch_end(a, co, ev);
	a->no_memory |= sched_add_other(a, co, ev) < 0;
}

static void gather_hooks(struct analysis *a)
{
	size_t suspends = 0, resumes = 0;
	const struct detector *const *d;

	for (d = detectors; *d; d++) {
		if ((*d)->on_suspend && suspends < ANALYSIS_HOOKS - 1)
			a->on_suspend[suspends++] = (*d)->on_suspend;
		if ((*d)->on_resume && resumes < ANALYSIS_HOOKS - 1)
			a->on_resume[resumes++] = (*d)->on_resume;
	}
}

static int analysis_give_back(void *arg, const struct trace_event *ev)
{
	struct analysis *a = arg;
	int rc = model_add_event(&a->model, ev);

	return a->no_memory ? -ENOMEM : rc;
}

struct analysis *analysis_new(const struct analysis_options *options)
{
	struct analysis *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	if (options)
		a->options = *options;
	if (!a->options.min_age_ns)
		a->options.min_age_ns = MODEL_S;
	gather_hooks(a);
	a->model.cpu = &a->cpu;
	a->model.hooks = (struct model_hooks){ analysis_transition, analysis_other,
					       analysis_leaving, a };
	return a;
}

int analysis_order(struct analysis *a, const struct trace_event *ev)
{
	return reorder_add(&a->reorder, ev, analysis_give_back, a);
}

int analysis_flush(struct analysis *a)
{
	int rc = reorder_finish(&a->reorder, analysis_give_back, a);

	reorder_release(&a->reorder);
	return rc;
}

int analysis_add(struct analysis *a, const struct trace_item *item)
{
	int rc;

	if (item->type == TRACE_ITEM_EVENT) {
		/* Traces by this collector are already in order per coroutine. */
		if (a->model.is_ours || !trace_is_transition(&item->event))
			return analysis_give_back(a, &item->event);
		return runs_add(a, &item->event);
	}
	rc = summary_add(&a->facts, item);
	if (!rc && item->type == TRACE_ITEM_SITE)
		rc = sites_add(&a->sites, &item->site);
	if (!rc && item->type == TRACE_ITEM_CPU)
		rc = cpu_samples_add(&a->cpu, &item->cpu);
	if (!rc && item->type == TRACE_ITEM_SWITCH)
		rc = switch_times_add(&a->switches, &item->switched);
	if (!rc && item->type == TRACE_ITEM_DESCRIPTOR)
		rc = descriptor_facts_add(&a->descriptors, &item->descriptor);
	if (!rc && item->type == TRACE_ITEM_WAITING)
		rc = waiting_facts_add(&a->waiting, &item->waiting);
	return rc ? rc : model_add(&a->model, item);
}

void analysis_leave_out(struct analysis *a, const struct trace_gap *gap)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_GAP);
	item.gap = *gap;
	model_add(&a->model, &item);
}

/* ---- the end ------------------------------------------------------------- */

static void analysis_explain(struct analysis *a, struct coro *co)
{
	const struct detector *const *d;

	for (d = detectors; *d && !co->explained; d++) {
		if ((*d)->on_stuck)
			(*d)->on_stuck(a, co);
	}
}

static void look_at_the_rest(struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->model.nr_coros; i++) {
		struct coro *co = &a->model.coros[i];

		if (!co->in_use)
			continue;
		analysis_leaving(a, co);
		if (co->state == TRACE_STATE_SUSPENDED)
			analysis_explain(a, co);
	}
}

static void judge_groups(struct analysis *a)
{
	size_t i;

	for (i = 0; i < a->findings.nr; i++) {
		struct group *g = &a->findings.groups[i];

		if (g->detector->on_group)
			g->detector->on_group(a, g);
	}
}

/* Run all detectors for the end of a run: changes the findings, and marks coroutines as explained.
 */
static void look_at_the_end(struct analysis *a)
{
	const struct detector *const *d;

	a->no_memory |= descriptor_facts_settle(&a->descriptors, &a->model) < 0;
	for (d = detectors; *d; d++) {
		if ((*d)->on_finish)
			(*d)->on_finish(a);
	}
	look_at_the_rest(a);
}

int analysis_end_run(struct analysis *a)
{
	int rc;

	model_finish(&a->model);
	rc = analysis_settle(a);
	if (rc >= 0)
		look_at_the_end(a);
	return rc;
}

static void analysis_conclude(struct analysis *a)
{
	look_at_the_end(a);
	judge_groups(a);
	if (a->doubt)
		findings_doubt(&a->findings, a->doubt);
	findings_sort(&a->findings);
}

/* Why findings that need events of the trace can only be suspicions; NULL: no reason. */
static const char *doubt_of(const struct trace_stats *stats)
{
	switch (stats ? trace_verdict(stats) : TRACE_COMPLETE) {
	case TRACE_INCOMPLETE:
		return "parts of the trace are missing, and may hold what this finding misses";
	case TRACE_UNFINISHED:
		return "the trace has no totals: events at its end may be missing";
	default:
		return NULL;
	}
}

int analysis_finish(struct analysis *a, const struct trace_stats *stats)
{
	int rc = runs_finish(a);

	if (rc < 0)
		return rc;
	a->doubt = doubt_of(stats);
	model_finish(&a->model);
	rc = analysis_settle(a);
	if (rc < 0)
		return rc;
	analysis_conclude(a);
	return a->no_memory ? -ENOMEM : 0;
}

int analysis_peek(struct analysis *a, uint64_t now_ts, int (*look)(void *arg), void *arg)
{
	struct findings before = a->findings, copy;
	struct slice_watch slices = a->slices;
	struct model *m = &a->model;
	uint64_t end_ts = m->end_ts;
	size_t i;
	int rc = findings_copy(&copy, &before);

	if (rc < 0)
		return rc;
	a->findings = copy;
	m->end_ts = now_ts > m->last_ts ? now_ts : m->last_ts;
	analysis_conclude(a);
	rc = a->no_memory ? -ENOMEM : look(arg);
	m->end_ts = end_ts;
	a->slices = slices;
	a->runners_looked_at = 0;
	for (i = 0; i < m->nr_coros; i++)
		m->coros[i].explained = false;
	findings_release(&a->findings);
	a->findings = before;
	return rc;
}

void analysis_free(struct analysis *a)
{
	if (!a)
		return;
	model_release(&a->model);
	sites_release(&a->sites);
	summary_release(&a->facts);
	findings_release(&a->findings);
	reorder_release(&a->reorder);
	runs_release(&a->runs);
	sched_release(&a->scheduling);
	cpu_samples_release(&a->cpu);
	switch_times_release(&a->switches);
	descriptor_facts_release(&a->descriptors);
	waiting_facts_release(&a->waiting);
	free(a->settled_into);
	free(a);
}

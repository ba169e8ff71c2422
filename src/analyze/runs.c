/* SPDX-License-Identifier: MIT */
/* runs.c - split a trace that holds several runs, one after the other. */
#include "analyze/runs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

#define JUMP_NS MODEL_S

/* ---- one run ---------------------------------------------------------------- */

static int run_take(struct analysis *a, const struct trace_event *ev)
{
	struct runs *r = &a->runs;
	uint64_t *seq = u64map_at(&r->seqs, ev->probe_id);

	if (!seq)
		return -ENOMEM;
	if (ev->seq > *seq)
		*seq = ev->seq;
	if (ev->tid != r->last_tid && u64map_put(&r->tids, ev->tid, 1) < 0)
		return -ENOMEM;
	r->last_tid = ev->tid;
	if (ev->ts > r->last_ts)
		r->last_ts = ev->ts;
	return analysis_order(a, ev);
}

/* Name the kind of everything that has none: the run. */
static int run_label(struct analysis *a)
{
	struct model *m = &a->model;
	char name[64];
	int64_t kind;
	size_t i;

	snprintf(name, sizeof(name), "run %u of the trace", a->runs.nr + 1);
	kind = tables_spawn(m, 0, name, strlen(name));
	if (kind < 0)
		return -ENOMEM;
	for (i = 0; i < m->nr_coros; i++) {
		if (m->coros[i].in_use && !m->coros[i].spawn)
			m->coros[i].spawn = (uint32_t)kind;
	}
	for (i = 1; i < m->nr_places; i++) {
		if (!m->places[i].spawn)
			m->places[i].spawn = (uint32_t)kind;
	}
	return findings_name_kind(&a->findings, (uint32_t)kind);
}

static void run_count(struct analysis *a)
{
	struct runs *r = &a->runs;
	const struct model *m = &a->model;
	size_t i;

	r->coroutines += coro_ids_count(&m->ids);
	r->threads += m->nr_threads;
	r->duration_ns += m->last_ts - m->first_ts;
	for (i = 0; i < m->nr_coros; i++)
		r->alive += m->coros[i].in_use && m->coros[i].state != TRACE_STATE_ENDED;
}

/* Judge this run at its end, and forget its coroutines. */
static int run_end(struct analysis *a)
{
	struct runs *r = &a->runs;
	int rc = analysis_flush(a);

	if (rc < 0 || run_label(a) < 0)
		return rc < 0 ? rc : -ENOMEM;
	rc = analysis_end_run(a);
	if (rc < 0 || run_label(a) < 0) /* also what was found at the end */
		return rc < 0 ? rc : -ENOMEM;
	run_count(a);
	analysis_unsettle(a);
	tables_next_run(&a->model);
	sched_release(&a->scheduling);
	u64map_release(&r->tids);
	u64map_release(&r->seqs);
	r->last_tid = r->last_ts = 0;
	r->nr++;
	return 0;
}

/* ---- between two runs -------------------------------------------------------- */

static bool is_of_this_run(const struct runs *r, uint64_t tid)
{
	uint64_t known;

	return tid == r->last_tid || u64map_get(&r->tids, tid, &known);
}

static bool may_begin_run(const struct runs *r, const struct trace_event *ev)
{
	return r->last_ts && ev->seq <= 2 && !is_of_this_run(r, ev->tid) &&
	       (ev->ts > r->last_ts + JUMP_NS || ev->ts + JUMP_NS < r->last_ts);
}

/*
 * True if @ev continues a coroutine of this run.  Ids may be the same in each run: a coroutine
 * whose numbers begin again among the events that are held back is another one.
 */
static bool is_continued(struct runs *r, const struct trace_event *ev)
{
	uint64_t seq, begun;

	if (!u64map_get(&r->seqs, ev->probe_id, &seq) ||
	    u64map_get(&r->begun, ev->probe_id, &begun))
		return false;
	if (ev->seq > 2 && ev->seq >= seq)
		return true;
	return u64map_put(&r->begun, ev->probe_id, 1) < 0; /* without memory: no new run */
}

static int give_held(struct analysis *a)
{
	struct runs *r = &a->runs;
	unsigned i, nr = r->nr_held;
	int rc = 0;

	r->nr_held = 0;
	u64map_release(&r->begun);
	for (i = 0; i < nr && !rc; i++)
		rc = run_take(a, &r->held[i]);
	return rc;
}

/* The events that are held back begin a run. */
static int run_begin(struct analysis *a)
{
	struct runs *r = &a->runs;
	uint64_t first = r->held[0].ts, last = r->last_ts;
	int rc = run_end(a);

	if (first > last && first - last > r->longest_ns)
		r->longest_ns = first - last;
	return rc < 0 ? rc : give_held(a);
}

/* The events that are held back are a short run, and @ev begins another one. */
static bool ends_held_run(const struct runs *r, const struct trace_event *ev)
{
	unsigned i;

	if (!r->nr_held || ev->seq > 2 || is_of_this_run(r, ev->tid) ||
	    ev->ts < r->held[r->nr_held - 1].ts + JUMP_NS)
		return false;
	for (i = 0; i < r->nr_held; i++) {
		if (r->held[i].tid == ev->tid)
			return false;
	}
	return true;
}

int runs_add(struct analysis *a, const struct trace_event *ev)
{
	struct runs *r = &a->runs;
	int rc;

	if (ends_held_run(r, ev)) {
		rc = run_begin(a);
		if (rc < 0)
			return rc;
	}
	if (!r->nr_held && !may_begin_run(r, ev))
		return run_take(a, ev);
	if (is_of_this_run(r, ev->tid) || is_continued(r, ev)) {
		rc = give_held(a);
		return rc < 0 ? rc : run_take(a, ev);
	}
	if (!r->held)
		r->held = calloc(RUNS_HELD, sizeof(*r->held));
	if (!r->held)
		return -ENOMEM;
	r->held[r->nr_held++] = *ev;
	return r->nr_held == RUNS_HELD ? run_begin(a) : 0;
}

int runs_finish(struct analysis *a)
{
	int rc = a->runs.nr_held ? run_begin(a) : 0;

	if (!rc)
		rc = analysis_flush(a);
	return rc < 0 || !a->runs.nr ? rc : run_label(a);
}

void runs_release(struct runs *r)
{
	u64map_release(&r->tids);
	u64map_release(&r->seqs);
	u64map_release(&r->begun);
	free(r->held);
	*r = (struct runs){ 0 };
}

/* SPDX-License-Identifier: MIT */
/*
 * detect_never_run.c - a coroutine was created and never ran.
 *
 * A lazy C++ task suspends before its body: its only suspension has no reason, and the site of its
 * creation or no site and an address of code.  A Rust future reports its first poll when the poll
 * ends, so a future that is in its first poll looks the same as one that was never polled; what a
 * coroutine did (create or wake another one, take a lock) shows that it has run.
 */
#include <inttypes.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

static bool never_run_has_started(const struct analysis *a, const struct coro *co)
{
	if (co->resumes || co->has_acted || !co->tells_life)
		return true;
	if (!co->suspends)
		return false;
	if (co->suspends > 1 || co->reason || co->has_resource)
		return true;
	if (co->site)
		return co->site != co->birth_site;
	return !co->addr || !a->symbols || !symbols_has(a->symbols, co->pid, co->addr);
}

static void never_run_report(struct analysis *a, struct coro *co, uint64_t age)
{
	struct finding f = FINDING_OF(&detector_never_run, co);
	const struct spawn *s = &a->model.spawns[co->spawn];

	f.size_ns = age;
	f.ts = co->birth_ts;
	if (!co->suspends) {
		int64_t place = tables_place(&a->model, co->birth_site, 0);

		f.place = place > 0 ? (uint32_t)place : 0;
	}
	if (s->resumes)
		finding_add_evidence(&f, "others of its kind were resumed %" PRIu64 " times",
				     s->resumes);
	if (co->woken_ts)
		finding_add_evidence(&f, "it was woken");
	finding_say(&f, "it was created %.3f ms before %s, and never ran", (double)age / 1e6,
		    co->state == TRACE_STATE_ENDED ? "it was destroyed" : "the end of the trace");
	finding_doubt(a, &f, NEED_TRANSITIONS);
	co->explained = true;
	finding_report(a, &f);
}

static void never_run_on_leave(struct analysis *a, struct coro *co)
{
	const struct model *m = &a->model;

	if (!m->is_ours || !co->birth_ts || never_run_has_started(a, co))
		return;
	if (co->state == TRACE_STATE_ENDED) {
		/* It may have run to its end without a suspension. */
		if (co->cut_off || co->was_cancelled)
			never_run_report(a, co, co->since_ts - co->birth_ts);
		return;
	}
	if (co->state == TRACE_STATE_NEW && m->end_ts &&
	    model_time_since(m, co, co->birth_ts) >= 100 * MODEL_MS)
		never_run_report(a, co, m->end_ts - co->birth_ts);
}

/* A lazy task: suspended since its creation. */
static void never_run_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = &a->model;

	if (!m->is_ours || !co->birth_ts || never_run_has_started(a, co))
		return;
	if (model_time_since(m, co, co->birth_ts) >= 100 * MODEL_MS)
		never_run_report(a, co, m->end_ts - co->birth_ts);
	co->explained = true;
}

const struct detector detector_never_run = {
	.name = "never-run",
	.code = "L1",
	.title = "Created and never run",
	.meaning = "The coroutine was created, and no event shows that it ever ran.",
	.advice = "Start it: a lazy task must be awaited or spawned, a scheduled one must be in a "
		  "queue that a worker looks at.",
	.is_fault = true,
	.is_suspicion = true,
	.on_leave = never_run_on_leave,
	.on_stuck = never_run_on_stuck,
};

/* SPDX-License-Identifier: MIT */
/* slice_watch.c - long slices: where their time went, and which coroutines waited meanwhile. */
#include "analyze/slice_watch.h"

#include <stdio.h>
#include <string.h>

#include "analyze/analysis.h"
#include "trace/coro_table.h"

/* A coroutine that was ready for less has not waited for this slice. */
#define WAITED_NS (5 * MODEL_MS)
/* A coroutine that runs this soon after the slice became ready during the slice. */
#define SOON_LEAST MODEL_MS
#define SOON_MOST  (20 * MODEL_MS)
/* The start of a run: programs load and prepare. */
#define START_NS (100 * MODEL_MS)

static uint64_t length_of(const struct long_slice *s)
{
	return s->to_ts - s->from_ts;
}

static uint64_t soon_after(const struct long_slice *s)
{
	uint64_t soon = length_of(s) / 20;

	soon = soon < SOON_LEAST ? SOON_LEAST : soon;
	return s->to_ts + (soon > SOON_MOST ? SOON_MOST : soon);
}

/* ---- the end of a slice ------------------------------------------------------ */

static void slice_close(struct analysis *a, unsigned number)
{
	struct slice_watch *w = &a->slices;
	struct long_slice done = w->open[number];

	w->open[number] = w->open[--w->nr];
	/* While a trace is followed, context switches arrive later than events. */
	if (a->switches.is_recorded)
		done.use = slice_use(a, done.co.pid, done.tid, done.from_ts, done.to_ts);
	blocking_judge(a, &done);
}

static void slice_close_thread(struct analysis *a, uint64_t tid)
{
	unsigned i;

	for (i = 0; i < a->slices.nr; i++) {
		if (a->slices.open[i].tid == tid) {
			slice_close(a, i);
			return;
		}
	}
}

/* Time in which the thread was away for a reason that only the samples know. */
static uint64_t move_part(uint64_t *from_ns, uint64_t sampled_ns)
{
	uint64_t part = sampled_ns < *from_ns ? sampled_ns : *from_ns;

	*from_ns -= part;
	return part;
}

struct late_part {
	const struct switch_times *switches;
	uint64_t tid, from_ts, to_ts;
	uint64_t ns;
};

static void late_add(void *ctx, const struct cpu_interval *counted)
{
	struct late_part *late = ctx;

	late->ns += switch_times_late(late->switches, late->tid, counted, late->from_ts,
				      late->to_ts);
}

/* Time without a processor that the switches show as blocked. */
static uint64_t slice_late_ns(const struct analysis *a, uint64_t tid, uint64_t from_ts,
			      uint64_t to_ts)
{
	struct late_part late = { &a->switches, tid, from_ts, to_ts, 0 };

	if (!a->switches.has_wakes)
		cpu_samples_each(&a->cpu, tid, from_ts, to_ts, late_add, &late);
	return late.ns;
}

struct cpu_use slice_use(const struct analysis *a, uint32_t pid, uint64_t tid, uint64_t from_ts,
			 uint64_t to_ts)
{
	struct cpu_use sampled = cpu_samples_thread(&a->cpu, pid, tid, from_ts, to_ts);
	struct cpu_use use = switch_times_thread(&a->switches, tid, from_ts, to_ts);

	if (!use.measured_ns)
		return sampled;
	use.stopped_ns = move_part(&use.blocked_ns, sampled.stopped_ns);
	use.tracer_ns = move_part(&use.blocked_ns, sampled.tracer_ns);
	use.page_ns = move_part(&use.blocked_ns, sampled.page_ns);
	use.queued_ns += move_part(&use.blocked_ns, slice_late_ns(a, tid, from_ts, to_ts));
	use.call = sampled.call;
	use.has_calls = sampled.has_calls;
	use.is_exact = true;
	return use;
}

void slice_watch_end(struct analysis *a, const struct coro *co, const struct trace_event *ev)
{
	const struct sched_thread *t;
	struct long_slice *s;
	uint64_t from = co->resumed_ts;
	bool is_first;

	if (co->state != TRACE_STATE_RUNNING || !from || ev->ts < from + SLICE_LONG_NS ||
	    co->tid != ev->tid)
		return;
	/* Other coroutines that ran inside of the slice end it: the thread was not kept. */
	t = sched_thread_now(a);
	/* If its end is not recorded, it may have ended before they ran: only its frame goes now.
	 */
	if (t->quiet_since > from && coro_event_destroys(ev))
		return;
	if (t->quiet_since > from)
		from = t->quiet_since;
	if (ev->ts < from + SLICE_LONG_NS)
		return;
	is_first = co->resumes + sched_coro_of(a, co)->ran_from_birth <= 1;
	slice_close_thread(a, ev->tid);
	if (a->slices.nr == SLICE_WATCHED)
		slice_close(a, 0);
	s = &a->slices.open[a->slices.nr++];
	*s = (struct long_slice){
		.co = *co,
		.tid = ev->tid,
		.from_ts = from,
		.to_ts = ev->ts,
		.end_site = ev->is_active ? 0 : ev->site,
		.end_addr = ev->kind == TRACE_SUSPEND ? ev->addr : 0,
		.is_alone = !t->is_shared,
		.is_first = is_first || from < a->model.first_ts + START_NS,
		.use = slice_use(a, co->pid, ev->tid, from, ev->ts),
	};
}

/* ---- waiters ----------------------------------------------------------------- */

static void waiters_add(struct slice_waiters *w, const struct coro *co, uint64_t waited_ns)
{
	w->nr++;
	if (waited_ns <= w->longest_ns)
		return;
	w->longest_ns = waited_ns;
	w->longest_id = co->probe_id;
	w->longest_name = co->name;
}

/* Since when @co could run, as far as the trace says so; 0: it does not. */
static uint64_t ready_since(const struct analysis *a, const struct coro *co)
{
	uint64_t ready = sched_coro_of(a, co)->ready_ts;

	if (ready)
		return ready;
	if (co->state == TRACE_STATE_NEW)
		return co->birth_ts;
	if (co->state == TRACE_STATE_SUSPENDED && co->reason == TRACE_REASON_TIMER &&
	    co->has_resource && co->resource >= co->since_ts)
		return co->resource;
	return 0;
}

static void slice_note(struct analysis *a, struct long_slice *s, const struct coro *co,
		       const struct trace_event *ev)
{
	uint64_t ready = ready_since(a, co), from = ready > s->from_ts ? ready : s->from_ts;

	if (co->probe_id == s->co.probe_id)
		return;
	if (ready && from + WAITED_NS <= s->to_ts) {
		/* A coroutine that did not run yet may be meant to start later. */
		if (co->state != TRACE_STATE_NEW || ev->ts <= soon_after(s))
			waiters_add(&s->waiters, co, s->to_ts - from);
	} else if (co->state == TRACE_STATE_SUSPENDED && co->since_ts <= s->from_ts &&
		   ev->ts <= soon_after(s) && co->tid == s->tid) {
		waiters_add(&s->waiters, co, 0);
	}
}

void slice_watch_resume(struct analysis *a, const struct coro *co, const struct trace_event *ev)
{
	unsigned i;

	for (i = 0; i < a->slices.nr; i++) {
		struct long_slice *s = &a->slices.open[i];

		if (s->tid != ev->tid)
			continue;
		if (ev->ts > s->to_ts + length_of(s))
			slice_close(a, i);
		else
			slice_note(a, s, co, ev);
		return;
	}
}

void slice_watch_finish(struct analysis *a)
{
	while (a->slices.nr)
		slice_close(a, a->slices.nr - 1);
}

void slice_watch_left(struct analysis *a, struct long_slice *s)
{
	const struct model *m = &a->model;
	size_t i;

	for (i = 0; i < m->nr_coros; i++) {
		const struct coro *co = &m->coros[i];
		uint64_t ready = co->in_use ? ready_since(a, co) : 0;
		uint64_t from = ready > s->from_ts ? ready : s->from_ts;

		if (!ready || co->probe_id == s->co.probe_id || co->pid != s->co.pid ||
		    from + WAITED_NS > s->to_ts)
			continue;
		if (co->state == TRACE_STATE_NEW || co->tid == s->tid)
			waiters_add(&s->waiters, co, s->to_ts - from);
	}
}

/* ---- text -------------------------------------------------------------------- */

static void part_add(char *buf, uint64_t ns, const char *what, const char *call)
{
	size_t at = strlen(buf);

	if (ns < MODEL_MS / 10)
		return;
	snprintf(buf + at, SLICE_PARTS - at, "%s%.1f ms %s%s", at ? ", " : "", (double)ns / 1e6,
		 what, call);
}

/* The samples saw the calls; only together they took the time that the switches measured. */
static const char *slice_calls(const struct cpu_use *u, char buf[64])
{
	snprintf(buf, 64, "%s%s", u->call ? u->call : "system calls",
		 u->has_calls ? " and other system calls" : "");
	return buf;
}

const char *slice_parts(const struct long_slice *s, char buf[SLICE_PARTS])
{
	const struct cpu_use *u = &s->use;
	char calls[64];

	buf[0] = '\0';
	part_add(buf, u->cpu_ns, "on a processor", "");
	if (u->is_exact && !u->call)
		part_add(buf, u->blocked_ns, "blocked in the kernel (system call not known)", "");
	else
		part_add(buf, u->blocked_ns, "in ", slice_calls(u, calls));
	part_add(buf, u->queued_ns, "waiting for a processor", "");
	part_add(buf, u->page_ns, "waiting for memory", "");
	part_add(buf, u->stopped_ns, "stopped", "");
	part_add(buf, u->tracer_ns, "waiting for the tracer", "");
	return buf;
}

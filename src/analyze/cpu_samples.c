/* SPDX-License-Identifier: MIT */
/* cpu_samples.c - what the kernel counted for threads, between any two times. */
#include "analyze/cpu_samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Distinguishes the stops of a process from the intervals of its first thread. */
#define KEY_PROCESS (UINT64_C(1) << 63)

enum cpu_state { STATE_RUNNING, STATE_BLOCKED, STATE_PAGE, STATE_STOPPED, STATE_TRACER };

static const char *const state_names[] = {
	[STATE_RUNNING] = TRACE_CPU_RUNNING, [STATE_BLOCKED] = TRACE_CPU_BLOCKED,
	[STATE_PAGE] = TRACE_CPU_PAGE,       [STATE_STOPPED] = TRACE_CPU_STOPPED,
	[STATE_TRACER] = TRACE_CPU_TRACER,
};

static uint8_t cpu_state_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++) {
		if (name && !strcmp(name, state_names[i]))
			return (uint8_t)i;
	}
	return STATE_RUNNING;
}

/* ---- add ------------------------------------------------------------------ */

int cpu_samples_add(struct cpu_samples *s, const struct trace_cpu *cpu)
{
	struct cpu_interval i = {
		.span = { cpu->from_ts, cpu->to_ts },
		.cpu_ns = cpu->cpu_ns,
		.queued_ns = cpu->queued_ns,
		.state = cpu_state_of(cpu->state),
	};
	struct time_list *t;
	int64_t call;

	if (cpu->to_ts <= cpu->from_ts || s->nr >= CPU_SAMPLES_MAX)
		return 0;
	if (cpu->call && s->names.nr < 1024) {
		call = strtab_intern(&s->names, cpu->call);
		if (call < 0)
			return -ENOMEM;
		i.call = (uint32_t)call + 1;
	}
	s->nr++;
	if (!cpu->tid && time_list_insert(&s->stops, sizeof(i), &i) < 0)
		return -ENOMEM;
	t = thread_lists_enter(&s->threads, cpu->tid ? cpu->tid : KEY_PROCESS | cpu->pid);
	return t ? time_list_insert(t, sizeof(i), &i) : -ENOMEM;
}

/* ---- ask ------------------------------------------------------------------ */

static const struct cpu_interval *cpu_interval_at(const struct time_list *t, size_t i)
{
	return time_list_at(t, sizeof(struct cpu_interval), i);
}

/*
 * The first interval that may reach beyond @ts.  Intervals of one thread overlap only by a line of
 * the tracer's waits, so one step back is enough.
 */
static size_t first_interval(const struct time_list *t, uint64_t ts)
{
	size_t first = time_list_first(t, sizeof(struct cpu_interval), ts);

	return first ? first - 1 : 0;
}

static uint64_t share_of(uint64_t ns, uint64_t part, uint64_t whole)
{
	return (uint64_t)((double)ns * (double)part / (double)whole);
}

/* @name: interned, so that equal ones have one address; NULL: not known. */
static void use_add_call(struct cpu_use *use, const char *name, uint64_t ns, uint64_t *longest)
{
	if (!name || !ns)
		return;
	use->has_calls |= use->call && use->call != name;
	if (ns > *longest) {
		*longest = ns;
		use->call = name;
	}
}

static void use_add(const struct cpu_samples *s, const struct cpu_interval *i, uint64_t part,
		    struct cpu_use *use, uint64_t *longest)
{
	uint64_t whole = i->span.to_ts - i->span.from_ts;
	uint64_t cpu = share_of(i->cpu_ns, part, whole), queued, rest;

	cpu = cpu < part ? cpu : part;
	queued = share_of(i->queued_ns, part, whole);
	queued = queued < part - cpu ? queued : part - cpu;
	rest = part - cpu - queued;
	use->measured_ns += part;
	use->cpu_ns += cpu;
	use->queued_ns += queued;
	if (i->state == STATE_BLOCKED) {
		use->blocked_ns += rest;
		use_add_call(use, i->call ? strtab_text(&s->names, i->call - 1) : NULL, rest,
			     longest);
	}
	use->page_ns += i->state == STATE_PAGE ? rest : 0;
	use->stopped_ns += i->state == STATE_STOPPED ? rest : 0;
	use->tracer_ns += i->state == STATE_TRACER ? rest : 0;
}

struct cpu_use cpu_samples_thread(const struct cpu_samples *s, uint32_t pid, uint64_t tid,
				  uint64_t from_ts, uint64_t to_ts)
{
	const struct time_list *t = thread_lists_find(&s->threads, tid);
	uint64_t stopped = cpu_samples_stopped(s, pid, from_ts, to_ts), longest = 0;
	struct cpu_use use = { 0 };
	size_t i;

	for (i = t ? first_interval(t, from_ts) : 0; t && i < t->nr; i++) {
		const struct cpu_interval *interval = cpu_interval_at(t, i);

		if (interval->span.from_ts >= to_ts)
			break;
		use_add(s, interval, time_span_overlap(&interval->span, from_ts, to_ts), &use,
			&longest);
	}
	/* A sleeping thread of a stopped process may still be shown in its system call. */
	if (stopped > use.stopped_ns) {
		uint64_t more = stopped - use.stopped_ns;

		use.stopped_ns = stopped;
		use.blocked_ns -= more < use.blocked_ns ? more : use.blocked_ns;
	}
	/* The tracer's waits are sleeps in the program's own thread. */
	use.blocked_ns -= use.tracer_ns < use.blocked_ns ? use.tracer_ns : use.blocked_ns;
	return use;
}

void cpu_samples_each(const struct cpu_samples *s, uint64_t tid, uint64_t from_ts, uint64_t to_ts,
		      void (*take)(void *ctx, const struct cpu_interval *interval), void *ctx)
{
	const struct time_list *t = thread_lists_find(&s->threads, tid);
	size_t i;

	for (i = t ? first_interval(t, from_ts) : 0; t && i < t->nr; i++) {
		const struct cpu_interval *interval = cpu_interval_at(t, i);

		if (interval->span.from_ts >= to_ts)
			break;
		if (interval->span.to_ts > from_ts)
			take(ctx, interval);
	}
}

uint64_t cpu_samples_stopped(const struct cpu_samples *s, uint32_t pid, uint64_t from_ts,
			     uint64_t to_ts)
{
	const struct time_list *t = pid ? thread_lists_find(&s->threads, KEY_PROCESS | pid)
					: &s->stops;
	uint64_t ns = 0;
	size_t i;

	for (i = t ? first_interval(t, from_ts) : 0; t && i < t->nr; i++) {
		const struct time_span *span = &cpu_interval_at(t, i)->span;

		if (span->from_ts >= to_ts)
			break;
		ns += time_span_overlap(span, from_ts, to_ts);
	}
	return ns < to_ts - from_ts ? ns : to_ts - from_ts;
}

void cpu_samples_release(struct cpu_samples *s)
{
	thread_lists_release(&s->threads);
	free(s->stops.elements);
	strtab_release(&s->names);
	*s = (struct cpu_samples){ 0 };
}

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

static struct cpu_thread *cpu_thread_enter(struct cpu_samples *s, uint64_t key)
{
	uint64_t *number = u64map_at(&s->numbers, key);
	struct cpu_thread *threads;
	size_t room;

	if (!number)
		return NULL;
	if (!*number) {
		if (s->nr_threads == s->room) {
			room = s->room ? s->room * 2 : 16;
			threads = realloc(s->threads, room * sizeof(*threads));
			if (!threads)
				return NULL;
			s->threads = threads;
			s->room = room;
		}
		s->threads[s->nr_threads++] = (struct cpu_thread){ 0 };
		*number = s->nr_threads;
	}
	return &s->threads[*number - 1];
}

/* Insert by time: lines are nearly in order. */
static int cpu_thread_add(struct cpu_thread *t, const struct cpu_interval *i)
{
	size_t at = t->nr;

	if (t->nr == t->room) {
		size_t room = t->room ? t->room * 2 : 16;
		struct cpu_interval *list = realloc(t->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		t->list = list;
		t->room = room;
	}
	while (at && t->list[at - 1].from_ts > i->from_ts)
		at--;
	memmove(&t->list[at + 1], &t->list[at], (t->nr - at) * sizeof(*t->list));
	t->list[at] = *i;
	t->nr++;
	return 0;
}

int cpu_samples_add(struct cpu_samples *s, const struct trace_cpu *cpu)
{
	struct cpu_interval i = {
		.from_ts = cpu->from_ts,
		.to_ts = cpu->to_ts,
		.cpu_ns = cpu->cpu_ns,
		.queued_ns = cpu->queued_ns,
		.state = cpu_state_of(cpu->state),
	};
	struct cpu_thread *t;
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
	if (!cpu->tid && cpu_thread_add(&s->stops, &i) < 0)
		return -ENOMEM;
	t = cpu_thread_enter(s, cpu->tid ? cpu->tid : KEY_PROCESS | cpu->pid);
	return t ? cpu_thread_add(t, &i) : -ENOMEM;
}

/* ---- ask ------------------------------------------------------------------ */

static const struct cpu_thread *cpu_thread_find(const struct cpu_samples *s, uint64_t key)
{
	uint64_t number;

	return u64map_get(&s->numbers, key, &number) && number ? &s->threads[number - 1] : NULL;
}

/*
 * The first interval that may reach beyond @ts.  Intervals of one thread overlap only by a line of
 * the tracer's waits, so one step back is enough.
 */
static size_t first_interval(const struct cpu_thread *t, uint64_t ts)
{
	size_t low = 0, high = t->nr;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (t->list[mid].to_ts <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

static uint64_t overlap_of(const struct cpu_interval *i, uint64_t from_ts, uint64_t to_ts)
{
	uint64_t from = i->from_ts > from_ts ? i->from_ts : from_ts;
	uint64_t to = i->to_ts < to_ts ? i->to_ts : to_ts;

	return to > from ? to - from : 0;
}

static uint64_t share_of(uint64_t ns, uint64_t part, uint64_t whole)
{
	return (uint64_t)((double)ns * (double)part / (double)whole);
}

static void use_add(const struct cpu_samples *s, const struct cpu_interval *i, uint64_t part,
		    struct cpu_use *use, uint64_t *longest)
{
	uint64_t whole = i->to_ts - i->from_ts;
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
		if (rest > *longest && i->call) {
			*longest = rest;
			use->call = strtab_text(&s->names, i->call - 1);
		}
	}
	use->page_ns += i->state == STATE_PAGE ? rest : 0;
	use->stopped_ns += i->state == STATE_STOPPED ? rest : 0;
	use->tracer_ns += i->state == STATE_TRACER ? rest : 0;
}

struct cpu_use cpu_samples_thread(const struct cpu_samples *s, uint32_t pid, uint64_t tid,
				  uint64_t from_ts, uint64_t to_ts)
{
	const struct cpu_thread *t = cpu_thread_find(s, tid);
	uint64_t stopped = cpu_samples_stopped(s, pid, from_ts, to_ts), longest = 0;
	struct cpu_use use = { 0 };
	size_t i;

	for (i = t ? first_interval(t, from_ts) : 0; t && i < t->nr; i++) {
		if (t->list[i].from_ts >= to_ts)
			break;
		use_add(s, &t->list[i], overlap_of(&t->list[i], from_ts, to_ts), &use, &longest);
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

uint64_t cpu_samples_stopped(const struct cpu_samples *s, uint32_t pid, uint64_t from_ts,
			     uint64_t to_ts)
{
	const struct cpu_thread *t = pid ? cpu_thread_find(s, KEY_PROCESS | pid) : &s->stops;
	uint64_t ns = 0;
	size_t i;

	for (i = t ? first_interval(t, from_ts) : 0; t && i < t->nr; i++) {
		if (t->list[i].from_ts >= to_ts)
			break;
		ns += overlap_of(&t->list[i], from_ts, to_ts);
	}
	return ns < to_ts - from_ts ? ns : to_ts - from_ts;
}

void cpu_samples_release(struct cpu_samples *s)
{
	size_t i;

	for (i = 0; i < s->nr_threads; i++)
		free(s->threads[i].list);
	free(s->threads);
	free(s->stops.list);
	u64map_release(&s->numbers);
	strtab_release(&s->names);
	*s = (struct cpu_samples){ 0 };
}

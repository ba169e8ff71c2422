/* SPDX-License-Identifier: MIT */
/* slice_cpu.c - processor time of slices, in sums per coroutine and per place (`run --cpu`). */
#include "view/slice_cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/view_data.h"

/* Slices that wait for their switches; above that, the oldest ones are not measured. */
#define ENDED_MAX (1u << 20)

bool view_has_cpu(const struct view *v)
{
	return v->analysis->switches.is_recorded;
}

/* 0: its thread has no index of its own. */
static uint64_t slice_cpu_tid(const struct view *v, uint32_t thread)
{
	return thread < view_nr_threads(v) ? view_model(v)->thread_counts[thread].tid : 0;
}

static void cpu_sums_add(struct cpu_sums *to, const struct cpu_sums *sums)
{
	to->slices += sums->slices;
	to->ns += sums->ns;
	to->queued_ns += sums->queued_ns;
	to->blocked_ns += sums->blocked_ns;
}

struct cpu_sums slice_cpu_of(const struct view *v, const struct slice *slice, const char **call)
{
	const struct view_record *rec = records_find(&v->records, slice->coro);
	uint64_t tid = slice_cpu_tid(v, slice->thread);
	struct cpu_sums sums = { 0 };
	struct cpu_use use;

	*call = NULL;
	if (!tid || slice->flags & SLICE_NO_START || !view_has_cpu(v))
		return sums;
	/* The samples alone are coarse, and only of long slices. */
	use = switch_times_thread(&v->analysis->switches, tid, slice->start, slice->end);
	if (!use.measured_ns)
		return sums;
	sums.slices = 1;
	sums.ns = use.measured_ns;
	sums.queued_ns = use.queued_ns;
	sums.blocked_ns = use.blocked_ns;
	if (use.blocked_ns)
		*call = slice_use(v->analysis, rec ? rec->pid : 0, tid, slice->start, slice->end)
				.call;
	return sums;
}

static int slice_cpu_add_place(struct slice_cpu *s, uint32_t place, const struct cpu_sums *sums)
{
	size_t nr = s->nr_places ? s->nr_places : 64;
	struct cpu_sums *places;

	while (nr <= place)
		nr *= 2;
	if (nr > s->nr_places) {
		places = reallocarray(s->places, nr, sizeof(*places));
		if (!places)
			return -ENOMEM;
		memset(places + s->nr_places, 0, (nr - s->nr_places) * sizeof(*places));
		s->places = places;
		s->nr_places = nr;
	}
	cpu_sums_add(&s->places[place], sums);
	return 0;
}

static int slice_cpu_add(struct view *v, const struct ended_slice *e)
{
	struct slice slice = {
		.start = e->start, .end = e->end, .coro = e->coro, .thread = e->thread
	};
	struct view_record *rec = records_find(&v->records, e->coro);
	const char *call;
	struct cpu_sums sums = slice_cpu_of(v, &slice, &call);

	if (!sums.slices)
		return 0;
	if (rec) {
		cpu_sums_add(&rec->cpu, &sums);
		rec->changed = v->tick + 1;
	}
	return slice_cpu_add_place(&v->cpu, e->site, &sums);
}

int slice_cpu_settle(struct view *v, bool all)
{
	struct slice_cpu *s = &v->cpu;
	int rc = 0;

	while (!rc && s->nr && (all || s->ended[s->first].end <= v->analysis->switches.known_ts)) {
		rc = slice_cpu_add(v, &s->ended[s->first]);
		s->first++;
		s->nr--;
	}
	if (!s->nr)
		s->first = 0;
	return rc;
}

/* Room for one more at the end. */
static int slice_cpu_reserve(struct slice_cpu *s)
{
	struct ended_slice *ended;
	size_t room = s->room ? 2 * s->room : 1024;

	if (s->nr == ENDED_MAX) {
		s->first++;
		s->nr--;
	}
	if (s->first + s->nr < s->room)
		return 0;
	if (s->first >= s->room / 2 && s->first) {
		memmove(s->ended, s->ended + s->first, s->nr * sizeof(*s->ended));
		s->first = 0;
		return 0;
	}
	ended = reallocarray(s->ended, room, sizeof(*ended));
	if (!ended)
		return -ENOMEM;
	s->ended = ended;
	s->room = room;
	return 0;
}

int slice_cpu_end(struct view *v, const struct slice *slice)
{
	struct slice_cpu *s = &v->cpu;

	if (!view_has_cpu(v) || slice->flags & SLICE_NO_START)
		return 0;
	if (slice_cpu_reserve(s) < 0)
		return -ENOMEM;
	s->ended[s->first + s->nr++] = (struct ended_slice){
		.start = slice->start,
		.end = slice->end,
		.coro = slice->coro,
		.site = slice->site,
		.thread = slice->thread,
	};
	return slice_cpu_settle(v, false);
}

struct cpu_sums slice_cpu_place(const struct view *v, size_t place)
{
	return place < v->cpu.nr_places ? v->cpu.places[place] : (struct cpu_sums){ 0 };
}

void slice_cpu_release(struct slice_cpu *s)
{
	free(s->ended);
	free(s->places);
	*s = (struct slice_cpu){ 0 };
}

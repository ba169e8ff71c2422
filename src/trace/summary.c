/* SPDX-License-Identifier: MIT */
/* summary.c - what is in a trace, gathered event by event. */
#include "trace/summary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- events -------------------------------------------------------------- */

static int make_room_for(struct trace_summary *s, size_t number)
{
	size_t room = s->last_room ? s->last_room : 64;
	struct summary_last *last;

	if (number < s->last_room)
		return 0;
	while (room <= number)
		room *= 2;
	last = realloc(s->last, room * sizeof(*last));
	if (!last)
		return -ENOMEM;
	memset(last + s->last_room, 0, (room - s->last_room) * sizeof(*last));
	s->last = last;
	s->last_room = room;
	return 0;
}

/* The latest by time: a trace need not be in order. */
static int remember_last(struct trace_summary *s, int64_t number, const struct trace_event *ev)
{
	struct summary_last *last;

	if (number < 0 || make_room_for(s, (size_t)number) < 0)
		return -ENOMEM;
	last = &s->last[number];
	if (ev->ts < last->ts)
		return 0;
	last->ts = ev->ts;
	last->addr = ev->addr;
	last->is_active = ev->is_active;
	return 0;
}

int summary_add_event(struct trace_summary *s, const struct trace_event *ev)
{
	uint64_t *thread = u64map_at(&s->threads, ev->tid);

	if (!thread ||
	    remember_last(s, coro_ids_enter(&s->coroutines, ev->probe_id, ev->station), ev) < 0)
		return -ENOMEM;
	(*thread)++;
	if (!s->events || ev->ts < s->first_ts)
		s->first_ts = ev->ts;
	if (ev->ts > s->last_ts)
		s->last_ts = ev->ts;
	s->events++;
	return 0;
}

uint64_t summary_duration_ns(const struct trace_summary *s)
{
	return s->events ? s->last_ts - s->first_ts : 0;
}

/* ---- the sidecar --------------------------------------------------------- */

static void free_run(struct sidecar_run *run)
{
	size_t i;

	for (i = 0; i < run->nr_command; i++)
		free((char *)run->command[i]);
	free((void *)run->command);
	free((char *)run->tool);
	free((char *)run->hostname);
	free((char *)run->arch);
	memset(run, 0, sizeof(*run));
}

static const char *copy(const char *text, bool *failed)
{
	char *mine = text ? strdup(text) : NULL;

	if (text && !mine)
		*failed = true;
	return mine;
}

static int add_run(struct trace_summary *s, const struct sidecar_run *run)
{
	const char **command = calloc(run->nr_command + 1, sizeof(*command));
	bool failed = false;
	size_t i;

	if (!command)
		return -ENOMEM;
	for (i = 0; i < run->nr_command; i++)
		command[i] = copy(run->command[i], &failed);
	free_run(&s->run);
	s->run = *run;
	s->run.command = command;
	s->run.tool = copy(run->tool, &failed);
	s->run.hostname = copy(run->hostname, &failed);
	s->run.arch = copy(run->arch, &failed);
	s->has_run = true;
	return failed ? -ENOMEM : 0;
}

/* Where in the list of the worst one with @lost events goes. */
static unsigned worst_place(const struct trace_summary *s, uint64_t lost)
{
	unsigned place = s->nr_worst;

	while (place > 0 && s->worst[place - 1].lost < lost)
		place--;
	return place;
}

static int add_loser(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	unsigned place = worst_place(s, c->lost);
	struct summary_worst *w = &s->worst[place];
	bool failed = false;

	s->nr_losers++;
	if (place == SUMMARY_WORST)
		return 0;
	if (s->nr_worst == SUMMARY_WORST)
		free(s->worst[--s->nr_worst].name);
	memmove(w + 1, w, (s->nr_worst - place) * sizeof(*w));
	s->nr_worst++;
	*w = (struct summary_worst){
		.station = c->station,
		.probe_id = c->probe_id,
		.written = c->written,
		.collected = c->collected,
		.lost = c->lost,
		.name = (char *)copy(c->name, &failed),
	};
	return failed ? -ENOMEM : 0;
}

static int add_name(struct trace_summary *s, const char *name)
{
	int64_t number = strtab_intern(&s->names, name);
	uint64_t *count = number < 0 ? NULL : u64map_at(&s->name_counts, (uint64_t)number);

	if (!count)
		return -ENOMEM;
	(*count)++;
	s->nr_named++;
	return 0;
}

/* A trace names the station only where the id alone does not do. */
static struct summary_last find_last(const struct trace_summary *s,
				     const struct sidecar_coroutine *c)
{
	int64_t number = coro_ids_find(&s->coroutines, c->probe_id, (uint32_t)c->station);

	if (number < 0)
		number = coro_ids_find(&s->coroutines, c->probe_id, TRACE_NO_STATION);
	return number < 0 ? (struct summary_last){ 0 } : s->last[number];
}

/* Who is suspended, and has been so for longest, is who one looks for. */
static bool is_more_stuck(const struct summary_last *a, const struct summary_last *b)
{
	if (a->is_active != b->is_active)
		return !a->is_active;
	return a->ts < b->ts;
}

static int add_alive(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	struct summary_alive new = { .probe_id = c->probe_id, .last = find_last(s, c) };
	unsigned at = s->nr_alive;

	while (at > 0 && is_more_stuck(&new.last, &s->alive[at - 1].last))
		at--;
	if (at == SUMMARY_ALIVE)
		return 0;
	new.name = c->name && * c->name ? strdup(c->name) : NULL;
	if (c->name && *c->name && !new.name)
		return -ENOMEM;
	if (s->nr_alive == SUMMARY_ALIVE)
		free(s->alive[--s->nr_alive].name);
	memmove(&s->alive[at + 1], &s->alive[at], (s->nr_alive - at) * sizeof(new));
	s->alive[at] = new;
	s->nr_alive++;
	return 0;
}

static int add_coroutine(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	int rc = 0;

	s->nr_described++;
	s->nr_dead += c->dead;
	s->nr_garbage += c->garbage;
	if (c->name && *c->name)
		rc = add_name(s, c->name);
	if (!rc && c->lost)
		rc = add_loser(s, c);
	if (!rc && !c->dead)
		rc = add_alive(s, c);
	return rc;
}

int summary_add_record(struct trace_summary *s, const struct trace_item *rec)
{
	switch (rec->type) {
	case TRACE_ITEM_RUN:
		return add_run(s, &rec->run);
	case TRACE_ITEM_PROCESS:
		if (s->nr_processes < SUMMARY_PROCESSES)
			s->processes[s->nr_processes] = rec->process;
		s->nr_processes++;
		return 0;
	case TRACE_ITEM_COROUTINE:
		return add_coroutine(s, &rec->coroutine);
	case TRACE_ITEM_TOTALS:
		s->totals = rec->totals;
		s->has_totals = true;
		return 0;
	default:
		break;
	}
	return 0;
}

/* Sorted as it grows: @max is a handful. */
size_t summary_top_names(const struct trace_summary *s, size_t *numbers, size_t max)
{
	uint64_t counts[SUMMARY_WORST], number, count;
	size_t nr = 0, pos = 0, at;

	if (max > SUMMARY_WORST)
		max = SUMMARY_WORST;
	while (u64map_next(&s->name_counts, &pos, &number, &count)) {
		for (at = nr; at > 0; at--) {
			/* Of two with as many bearers the one that came first. */
			if (counts[at - 1] > count ||
			    (counts[at - 1] == count && numbers[at - 1] < number))
				break;
		}
		if (at == max)
			continue;
		nr += nr < max;
		memmove(&counts[at + 1], &counts[at], (nr - at - 1) * sizeof(*counts));
		memmove(&numbers[at + 1], &numbers[at], (nr - at - 1) * sizeof(*numbers));
		counts[at] = count;
		numbers[at] = (size_t)number;
	}
	return nr;
}

void summary_release(struct trace_summary *s)
{
	unsigned i;

	for (i = 0; i < s->nr_worst; i++)
		free(s->worst[i].name);
	for (i = 0; i < s->nr_alive; i++)
		free(s->alive[i].name);
	free_run(&s->run);
	strtab_release(&s->names);
	u64map_release(&s->name_counts);
	u64map_release(&s->threads);
	coro_ids_release(&s->coroutines);
	free(s->last);
	memset(s, 0, sizeof(*s));
}

/* SPDX-License-Identifier: MIT */
/* summary.c - summary of a trace, collected item by item. */
#include "trace/summary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- events -------------------------------------------------------------- */

static struct summary_coro *summary_coro_of(struct trace_summary *s, const struct trace_event *ev)
{
	s->coroutines.entry_size = sizeof(struct summary_coro);
	return coro_table_enter(&s->coroutines, ev->probe_id, ev->station);
}

/* Keeps the latest state by time: a trace need not be in order. */
static int summary_add_transition(struct trace_summary *s, const struct trace_event *ev)
{
	struct summary_coro *co = summary_coro_of(s, ev);

	if (!co)
		return -ENOMEM;
	s->events++;
	if (!coro_step_counts(coro_step_of(&co->life, ev)))
		return 0;
	coro_step_apply(&co->life, ev);
	co->last.addr = ev->addr;
	co->last.site = ev->site;
	co->last.reason = ev->reason;
	co->last.has_resource = ev->flags & TRACE_HAS_RESOURCE;
	co->last.resource = ev->resource;
	return 0;
}

static int summary_add_name(struct trace_summary *s, const char *name, uint32_t *which);
static int add_loser(struct trace_summary *s, const struct sidecar_coroutine *c);
static const char *summary_name_of(const struct trace_summary *s,
				   const struct sidecar_coroutine *c);

static int summary_add_birth(struct trace_summary *s, const struct trace_event *ev)
{
	struct summary_coro *co = summary_coro_of(s, ev);
	char *name;
	int rc;

	if (co && coro_step_of(&co->life, ev) == CORO_STEP_BORN_AGAIN) {
		coro_table_remove(&s->coroutines, co);
		co = summary_coro_of(s, ev);
	}
	if (!co)
		return -ENOMEM;
	coro_step_apply(&co->life, ev);
	if (!ev->name || !ev->name_size)
		return 0;
	name = strndup(ev->name, ev->name_size);
	rc = name ? summary_add_name(s, name, &co->last.name) : -ENOMEM;
	free(name);
	return rc;
}

/* An end with or without a later destroy, or a destroy alone; the last one carries the losses. */
static int summary_add_end(struct trace_summary *s, const struct trace_event *ev)
{
	struct summary_coro *co = summary_coro_of(s, ev);
	struct sidecar_coroutine c = {
		.station = ev->station,
		.probe_id = ev->probe_id,
		.written = ev->written,
		.collected = ev->written - (ev->lost < ev->written ? ev->lost : ev->written),
		.lost = ev->lost,
	};

	if (!co)
		return -ENOMEM;
	s->nr_ended += co->life.state != TRACE_STATE_ENDED;
	coro_step_apply(&co->life, ev);
	if (coro_event_destroys(ev))
		coro_table_remove(&s->coroutines, co);
	return ev->lost ? add_loser(s, &c) : 0;
}

static int summary_add_other(struct trace_summary *s, const struct trace_event *ev)
{
	s->others++;
	switch (ev->kind) {
	case TRACE_BIRTH:
		return summary_add_birth(s, ev);
	case TRACE_END:
	case TRACE_DESTROY:
		return summary_add_end(s, ev);
	default:
		return 0; /* a wake does not prove that its target exists */
	}
}

static int summary_add_event(struct trace_summary *s, const struct trace_event *ev)
{
	uint64_t *thread = u64map_at(&s->threads, ev->tid);
	bool is_first = !s->events && !s->others;

	if (!thread)
		return -ENOMEM;
	(*thread)++;
	if (is_first || ev->ts < s->first_ts)
		s->first_ts = ev->ts;
	if (ev->ts > s->last_ts)
		s->last_ts = ev->ts;
	if (ev->kind < NR_TRACE_KINDS && !trace_is_wakers_dropped(ev))
		s->kinds[ev->kind]++;
	return trace_is_transition(ev) ? summary_add_transition(s, ev) : summary_add_other(s, ev);
}

uint64_t summary_age_ns(const struct trace_summary *s, uint64_t ts)
{
	uint64_t end = s->last_ts;

	if (s->has_totals && s->totals.end_ts > end)
		end = s->totals.end_ts;
	return end > ts ? end - ts : 0;
}

uint64_t summary_duration_ns(const struct trace_summary *s)
{
	return s->events || s->others ? s->last_ts - s->first_ts : 0;
}

/* ---- gaps ---------------------------------------------------------------- */

static struct summary_gaps *gaps_of(struct trace_summary *s, const struct trace_gap *gap)
{
	/* A thread has one lane at a time; a collision of two keys merges two lines of a list. */
	uint64_t *number = u64map_at(&s->gap_numbers, gap->tid ^ (uint64_t)gap->lane << 32);
	struct summary_gaps *more;

	if (!number)
		return NULL;
	if (*number)
		return &s->gaps[*number - 1];
	if (s->nr_gaps == s->gaps_room) {
		size_t room = s->gaps_room ? s->gaps_room * 2 : 16;

		more = reallocarray(s->gaps, room, sizeof(*more));
		if (!more)
			return NULL;
		s->gaps = more;
		s->gaps_room = room;
	}
	*number = ++s->nr_gaps;
	more = &s->gaps[s->nr_gaps - 1];
	*more = (struct summary_gaps){ .lane = gap->lane, .pid = gap->pid, .tid = gap->tid };
	return more;
}

static int summary_add_gap(struct trace_summary *s, const struct trace_gap *gap)
{
	struct summary_gaps *gaps = gaps_of(s, gap);

	if (!gaps)
		return -ENOMEM;
	gaps->gaps++;
	gaps->transitions += gap->transitions;
	gaps->others += gap->others;
	return 0;
}

static uint64_t lost_in(const struct summary_gaps *gaps)
{
	return gaps->transitions + gaps->others;
}

/* Insertion into a sorted list: @max is small. */
size_t summary_top_gaps(const struct trace_summary *s, size_t *numbers, size_t max)
{
	size_t nr = 0, i, at;

	for (i = 0; i < s->nr_gaps; i++) {
		for (at = nr; at > 0; at--) {
			if (lost_in(&s->gaps[numbers[at - 1]]) >= lost_in(&s->gaps[i]))
				break;
		}
		if (at == max)
			continue;
		nr += nr < max;
		memmove(&numbers[at + 1], &numbers[at], (nr - at - 1) * sizeof(*numbers));
		numbers[at] = i;
	}
	return nr;
}

/* ---- sites --------------------------------------------------------------- */

static int summary_add_site(struct trace_summary *s, const struct trace_site *site)
{
	char text[2 * SITE_NAME_SIZE + 16];
	int64_t number;
	int rc;

	site_text(text, sizeof(text), site->file, site->line, site->function);
	number = strtab_intern(&s->places, text);
	rc = number < 0 ? -ENOMEM : u64map_put(&s->sites, site->id, (uint64_t)number + 1);
	return rc;
}

/* Returns 1 + its number in places; 0: not reported. */
static uint64_t summary_place_of(const struct trace_summary *s, uint32_t site)
{
	uint64_t number;

	return site && u64map_get(&s->sites, site, &number) ? number : 0;
}

const char *summary_place_text(const struct trace_summary *s, uint64_t place)
{
	return place ? strtab_text(&s->places, (size_t)place - 1) : NULL;
}

const char *summary_place(const struct trace_summary *s, uint32_t site)
{
	return summary_place_text(s, summary_place_of(s, site));
}

/* ---- facts --------------------------------------------------------------- */

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

static const char *summary_copy(const char *text, bool *failed)
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
		command[i] = summary_copy(run->command[i], &failed);
	free_run(&s->run);
	s->run = *run;
	s->run.command = command;
	s->run.tool = summary_copy(run->tool, &failed);
	s->run.hostname = summary_copy(run->hostname, &failed);
	s->run.arch = summary_copy(run->arch, &failed);
	s->has_run = true;
	return failed ? -ENOMEM : 0;
}

/* Position in the sorted list `worst` for a coroutine with @lost events. */
static unsigned summary_worst_place(const struct trace_summary *s, uint64_t lost)
{
	unsigned place = s->nr_worst;

	while (place > 0 && s->worst[place - 1].lost < lost)
		place--;
	return place;
}

static int add_loser(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	unsigned place = summary_worst_place(s, c->lost);
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
		.name = (char *)summary_copy(summary_name_of(s, c), &failed),
	};
	return failed ? -ENOMEM : 0;
}

/* *@which: 1 + its number in names; 0: there are too many names. */
static int summary_add_name(struct trace_summary *s, const char *name, uint32_t *which)
{
	int64_t number = s->names.nr < SUMMARY_NAMES ? strtab_intern(&s->names, name)
						     : strtab_find(&s->names, name);
	uint64_t *count;

	s->nr_named++;
	*which = number < 0 ? 0 : (uint32_t)number + 1;
	if (number == -ENOENT) {
		s->nr_unnamed++;
		return 0;
	}
	count = number < 0 ? NULL : u64map_at(&s->name_counts, (uint64_t)number);
	if (!count)
		return -ENOMEM;
	(*count)++;
	return 0;
}

/* The state from its events; a trace has the station only where the id alone is ambiguous. */
static struct summary_last find_last(const struct trace_summary *s,
				     const struct sidecar_coroutine *c)
{
	const struct summary_coro *co = coro_table_find(&s->coroutines, c->probe_id,
							(uint32_t)c->station);
	struct summary_last last = { 0 };

	if (!co)
		co = coro_table_find(&s->coroutines, c->probe_id, TRACE_NO_STATION);
	if (!co)
		return last;
	last = co->last;
	last.ts = co->life.since_ts;
	last.state = co->life.state;
	return last;
}

/* The state in the fact comes from the coroutine itself and includes lost events. */
static struct summary_last last_told(const struct trace_summary *s,
				     const struct sidecar_coroutine *c)
{
	if (!c->state)
		return find_last(s, c);
	return (struct summary_last){
		.ts = c->since_ts,
		.addr = c->addr,
		.site = c->site,
		.state = c->state,
		.reason = c->reason,
		.has_resource = c->has_resource,
		.resource = c->resource,
	};
}

/* Returns the full name if the birth was read: the region holds only the start of a name. */
static const char *summary_name_of(const struct trace_summary *s, const struct sidecar_coroutine *c)
{
	uint32_t number = c->name_truncated ? find_last(s, c).name : 0;

	return number ? strtab_text(&s->names, number - 1) : c->name;
}

static int add_alive(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	struct summary_alive new = { .probe_id = c->probe_id, .last = last_told(s, c) };
	const char *name = summary_name_of(s, c);
	unsigned at = s->nr_alive;
	uint64_t place;

	new.last.birth_site = c->birth_site;
	place = new.last.state == TRACE_STATE_SUSPENDED ? summary_place_of(s, new.last.site) : 0;

	if (leftovers_add(&s->leftovers, c->probe_id, name, &new.last, place) < 0)
		return -ENOMEM;
	while (at > 0 && summary_is_more_stuck(&new.last, &s->alive[at - 1].last))
		at--;
	if (at == SUMMARY_ALIVE)
		return 0;
	new.name = name &&*name ? strdup(name) : NULL;
	if (name && *name && !new.name)
		return -ENOMEM;
	if (s->nr_alive == SUMMARY_ALIVE)
		free(s->alive[--s->nr_alive].name);
	memmove(&s->alive[at + 1], &s->alive[at], (s->nr_alive - at) * sizeof(new));
	s->alive[at] = new;
	s->nr_alive++;
	return 0;
}

static int summary_add_coroutine(struct trace_summary *s, const struct sidecar_coroutine *c)
{
	bool in_station = c->station != TRACE_NO_STATION;
	uint32_t which;
	int rc = 0;

	s->nr_described++;
	s->nr_in_stations += in_station;
	s->nr_dead += c->dead;
	s->nr_garbage += c->garbage;
	/* A coroutine without a station got its name counted with its birth event. */
	if (c->name && *c->name && (in_station || !s->kinds[TRACE_BIRTH]))
		rc = summary_add_name(s, c->name, &which);
	if (!rc && c->lost)
		rc = add_loser(s, c);
	if (!rc && !c->dead)
		rc = add_alive(s, c);
	return rc;
}

int summary_add(struct trace_summary *s, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_RUN:
		return add_run(s, &item->run);
	case TRACE_ITEM_PROCESS:
		if (s->nr_processes < SUMMARY_PROCESSES)
			s->processes[s->nr_processes] = item->process;
		s->nr_processes++;
		return 0;
	case TRACE_ITEM_SITE:
		return summary_add_site(s, &item->site);
	case TRACE_ITEM_EVENT:
		return summary_add_event(s, &item->event);
	case TRACE_ITEM_GAP:
		return summary_add_gap(s, &item->gap);
	case TRACE_ITEM_COROUTINE:
		return summary_add_coroutine(s, &item->coroutine);
	case TRACE_ITEM_TOTALS:
		s->totals = item->totals;
		s->has_totals = true;
		return 0;
	case TRACE_ITEM_MODULE:
	case TRACE_ITEM_CPU:
	case TRACE_ITEM_DESCRIPTOR:
	case TRACE_ITEM_SWITCH:
	case TRACE_ITEM_WAITING:
	case TRACE_ITEM_FRAME:
	case TRACE_ITEM_PART:
	case TRACE_ITEM_MEMORY:
	case NR_TRACE_ITEM_TYPES:
		break;
	}
	return 0;
}

/*
 * A coroutine in a station has a fact at the end; others have a birth event, or, if that was
 * lost, a fact if they still exist at the end.
 */
uint64_t summary_born(const struct trace_summary *s)
{
	uint64_t others = s->nr_described - s->nr_in_stations;

	return s->nr_in_stations +
	       (s->kinds[TRACE_BIRTH] > others ? s->kinds[TRACE_BIRTH] : others);
}

uint64_t summary_ended(const struct trace_summary *s)
{
	return s->nr_dead + s->nr_ended;
}

/* Insertion into a sorted list: @max is small. */
size_t summary_top_names(const struct trace_summary *s, size_t *numbers, size_t max)
{
	uint64_t counts[SUMMARY_WORST], number, count;
	size_t nr = 0, pos = 0, at;

	if (max > SUMMARY_WORST)
		max = SUMMARY_WORST;
	while (u64map_next(&s->name_counts, &pos, &number, &count)) {
		for (at = nr; at > 0; at--) {
			/* At equal counts the name that came first wins. */
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
	leftovers_release(&s->leftovers);
	free_run(&s->run);
	strtab_release(&s->names);
	strtab_release(&s->places);
	u64map_release(&s->sites);
	u64map_release(&s->gap_numbers);
	free(s->gaps);
	u64map_release(&s->name_counts);
	u64map_release(&s->threads);
	coro_table_release(&s->coroutines);
	memset(s, 0, sizeof(*s));
}

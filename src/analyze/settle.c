/* SPDX-License-Identifier: MIT */
/*
 * settle.c - after the last event: merge places that are identified by addresses.
 *
 * A code address is a source location: addresses of the same line of the same function are one
 * place, also if the program recorded that line as a site.
 *
 * An address outside of all code belongs to one coroutine: its frame or its future.  It is not a
 * place, unless two coroutines wait there at the same time.  What coroutines of one kind wait for
 * at such addresses is one place, the place of the kind; without a kind they have none.
 */
#include <errno.h>
#include <stdlib.h>

#include "analyze/analysis.h"
#include "analyze/model_tables.h"

struct settling {
	struct analysis *a;
	uint32_t *into; /* indexed by place: the place it is merged into */
	struct strtab lines;
	struct u64map by_line; /* index in lines to the place */
	struct u64map by_kind; /* kind to its place */
};

static bool may_be_code(const struct analysis *a, const struct wait_place *p)
{
	if (a->symbols && symbols_has(a->symbols, p->pid, p->addr))
		return true;
	/* Our SDKs write addresses of code; without its modules they cannot be checked. */
	return a->model.is_ours && !(a->symbols && symbols_has_process(a->symbols, p->pid));
}

/*
 * The first place with the same line and function; @place itself if the line is unknown.  0: no
 * memory.
 */
static uint32_t place_of_line(struct settling *s, uint32_t place)
{
	const struct wait_place *p = &s->a->model.places[place];
	char text[2 * SITE_NAME_SIZE + 16];
	struct trace_site told;
	struct symbol symbol;
	int64_t line;
	uint64_t *first;

	if (!s->a->symbols || !symbols_find_resume(s->a->symbols, p->pid, p->addr, &symbol) ||
	    !symbol.file)
		return place;
	if (sites_find_line(&s->a->sites, symbol.file, symbol.line, symbol.function, &told)) {
		int64_t known = tables_find_site(&s->a->model, told.id);

		if (known > 0)
			return (uint32_t)known;
	}
	site_text(text, sizeof(text), symbol.file, symbol.line, symbol.function);
	line = strtab_intern(&s->lines, text);
	first = line < 0 ? NULL : u64map_at(&s->by_line, (uint64_t)line);
	if (!first)
		return 0;
	if (!*first)
		*first = place;
	return (uint32_t)*first;
}

/*
 * The place of the kind of the coroutines that waited at address @place; 0: they have none, or are
 * of several kinds.  The first such place is it.  -ENOMEM.
 */
static int64_t place_of_kind(struct settling *s, uint32_t place)
{
	struct wait_place *p = &s->a->model.places[place];
	uint64_t *first;

	if (!p->spawn || p->is_mixed)
		return 0;
	first = u64map_at(&s->by_kind, p->spawn);
	if (!first)
		return -ENOMEM;
	if (!*first)
		*first = place;
	return (int64_t)*first;
}

static int find_places(struct settling *s, bool *moved)
{
	struct model *m = &s->a->model;
	uint32_t i;

	m->own_addresses = 0; /* places of earlier runs are counted again */
	for (i = 1; i < m->nr_places; i++) {
		const struct wait_place *p = &m->places[i];

		s->into[i] = i;
		if (p->site)
			continue;
		if (may_be_code(s->a, p)) {
			s->into[i] = place_of_line(s, i);
			if (!s->into[i])
				return -ENOMEM;
		} else if (!p->is_shared) {
			int64_t kind = place_of_kind(s, i);

			if (kind < 0)
				return -ENOMEM;
			s->into[i] = (uint32_t)kind;
			m->own_addresses++;
			*moved = true;
		}
		*moved |= s->into[i] != i;
	}
	return 0;
}

/*
 * Sum the waits of each place and the places merged into it, for comparisons. m->places is
 * unchanged.
 */
static int join_waits(struct model *m, const uint32_t *into)
{
	size_t i;
	int rc = 0;

	m->settled = calloc(m->nr_places, sizeof(*m->settled));
	if (!m->settled)
		return -ENOMEM;
	m->nr_settled = m->nr_places;
	for (i = 0; i < m->nr_places && !rc; i++) {
		struct wait_place *to = &m->settled[into[i]];

		if (m->places[i].last_resumed_ts > to->last_resumed_ts)
			to->last_resumed_ts = m->places[i].last_resumed_ts;
		rc = histogram_join(&to->waits, &m->places[i].waits);
	}
	return rc;
}

/* A coroutine at none of the places, because there were too many addresses, has that of its kind.
 */
static uint32_t settled_place(const struct settling *s, const struct coro *co)
{
	uint64_t kind;

	if (co->place || co->site || !co->spawn || !co->suspends ||
	    !u64map_get(&s->by_kind, co->spawn, &kind))
		return s->into[co->place];
	return (uint32_t)kind;
}

/* The places of kinds are known by no address. */
static void clear_addresses(struct settling *s)
{
	struct model *m = &s->a->model;
	uint64_t kind;
	uint32_t i;

	for (i = 1; i < m->nr_places; i++) {
		if (m->places[i].spawn && u64map_get(&s->by_kind, m->places[i].spawn, &kind) &&
		    kind == i)
			m->places[i].addr = 0;
	}
}

static void move_waits(const struct settling *s, struct coro *co)
{
	unsigned k;

	co->place = settled_place(s, co);
	for (k = 0; k < MODEL_RHYTHMS; k++)
		co->rhythms[k].place = s->into[co->rhythms[k].place];
}

static int move_all(struct settling *s)
{
	struct model *m = &s->a->model;
	size_t i;

	if (join_waits(m, s->into) < 0)
		return -ENOMEM;
	for (i = 0; i < m->nr_coros; i++) {
		if (m->coros[i].in_use)
			move_waits(s, &m->coros[i]);
	}
	for (i = 0; i < model_nr_cancelled(m); i++)
		move_waits(s, &m->cancelled[i]);
	clear_addresses(s);
	return findings_move(&s->a->findings, s->into);
}

void analysis_unsettle(struct analysis *a)
{
	struct model *m = &a->model;
	size_t i;

	for (i = 0; m->settled && i < m->nr_places; i++)
		histogram_release(&m->settled[i].waits);
	free(m->settled);
	m->settled = NULL;
	free(a->settled_into);
	a->settled_into = NULL;
	a->nr_settled_into = 0;
}

uint32_t analysis_place(const struct analysis *a, uint32_t place)
{
	return place < a->nr_settled_into ? a->settled_into[place] : place;
}

int analysis_settle(struct analysis *a)
{
	struct settling s = { .a = a };
	bool moved = false;
	int rc;

	if (!a->model.nr_places)
		return 0;
	s.into = calloc(a->model.nr_places, sizeof(*s.into));
	rc = s.into ? find_places(&s, &moved) : -ENOMEM;
	if (!rc && moved)
		rc = move_all(&s);
	free(a->settled_into);
	a->settled_into = s.into;
	a->nr_settled_into = moved && !rc ? a->model.nr_places : 0;
	strtab_release(&s.lines);
	u64map_release(&s.by_line);
	u64map_release(&s.by_kind);
	return rc;
}

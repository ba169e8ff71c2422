/* SPDX-License-Identifier: MIT */
/*
 * settle.c - after the last event: merge places that are identified by addresses.
 *
 * A code address is a source location: addresses of the same line of the same function are one
 * place, also if the program recorded that line as a site.
 *
 * An address outside of all code belongs to one coroutine: its frame or its future.  SDKs of other
 * tools record such addresses.  It is not a place, unless two coroutines wait there at the same
 * time.
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

static int find_places(struct settling *s, bool *moved)
{
	const struct model *m = &s->a->model;
	uint32_t i;

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
			s->into[i] = 0;
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

		m->own_addresses += i && !into[i];
		if (m->places[i].last_resumed_ts > to->last_resumed_ts)
			to->last_resumed_ts = m->places[i].last_resumed_ts;
		rc = histogram_join(&to->waits, &m->places[i].waits);
	}
	return rc;
}

static int move_all(struct settling *s)
{
	struct model *m = &s->a->model;
	size_t i;

	if (join_waits(m, s->into) < 0)
		return -ENOMEM;
	for (i = 0; i < m->nr_coros; i++) {
		struct coro *co = &m->coros[i];
		unsigned k;

		if (!co->in_use)
			continue;
		co->place = s->into[co->place];
		for (k = 0; k < MODEL_RHYTHMS; k++)
			co->rhythms[k].place = s->into[co->rhythms[k].place];
	}
	return findings_move(&s->a->findings, s->into);
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
	free(s.into);
	strtab_release(&s.lines);
	u64map_release(&s.by_line);
	return rc;
}

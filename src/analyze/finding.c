/* SPDX-License-Identifier: MIT */
/* finding.c - findings, grouped by detector and place. */
#include "analyze/finding.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detector.h"

static const char *const names[] = { "info", "suspect", "strong", "proven" };

const char *confidence_name(enum confidence confidence)
{
	return names[confidence];
}

int confidence_from_name(const char *name)
{
	int i;

	for (i = 0; i < NR_CONFIDENCES; i++) {
		if (!strcmp(name, names[i]))
			return i;
	}
	return -1;
}

/* ---- evidence ------------------------------------------------------------ */

static struct evidence *evidence_next(struct finding *f)
{
	return f->nr_evidence < FINDING_EVIDENCE ? &f->evidence[f->nr_evidence++] : NULL;
}

void finding_add_evidence(struct finding *f, const char *fmt, ...)
{
	struct evidence *e = evidence_next(f);
	va_list args;

	if (!e)
		return;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
}

void finding_add_evidence_at(struct finding *f, enum evidence_role role, uint32_t site,
			     uint64_t addr, const char *fmt, ...)
{
	struct evidence *e = evidence_next(f);
	va_list args;

	if (!e)
		return;
	e->role = (uint8_t)role;
	e->site = site;
	e->addr = addr;
	va_start(args, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, args);
	va_end(args);
}

void finding_set_hint(struct finding *f, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(f->hint, sizeof(f->hint), fmt, args);
	va_end(args);
}

/* ---- the chain of waiters ------------------------------------------------- */

static struct link link_of(const struct coro *co)
{
	return (struct link){
		.probe_id = co->probe_id,
		.name = co->name,
		.site = co->site,
		.addr = co->addr,
		.state = co->state,
		.reason = co->reason,
	};
}

/* The parent of @co, if it is suspended in a join on @co; otherwise NULL. */
static const struct coro *waiter_of(const struct model *m, const struct coro *co)
{
	const struct coro *parent = co->parent ? model_find(m, co->parent) : NULL;

	if (!parent || parent->state != TRACE_STATE_SUSPENDED ||
	    parent->reason != TRACE_REASON_JOIN ||
	    (parent->has_resource && parent->resource != co->probe_id))
		return NULL;
	return parent;
}

unsigned finding_chain(const struct model *m, const struct coro *co,
		       struct link chain[FINDING_CHAIN])
{
	const struct coro *at = waiter_of(m, co);
	unsigned nr = 0;

	while (at && nr < FINDING_CHAIN && at->probe_id != co->probe_id) {
		chain[nr++] = link_of(at);
		at = waiter_of(m, at);
	}
	return nr;
}

/* ---- groups -------------------------------------------------------------- */

static struct group *new_group(struct findings *f, uint64_t *number)
{
	if (f->nr == f->room) {
		size_t room = f->room ? f->room * 2 : 16;
		struct group *groups = realloc(f->groups, room * sizeof(*groups));

		if (!groups) {
			f->no_memory = true;
			return NULL;
		}
		f->groups = groups;
		f->room = room;
	}
	*number = f->nr + 1;
	memset(&f->groups[f->nr], 0, sizeof(*f->groups));
	return &f->groups[f->nr++];
}

static uint64_t key_of(const struct detector *detector, uint32_t place, uint32_t spawn)
{
	return (uint64_t)detector_number(detector) << 48 | (uint64_t)place << 24 | spawn;
}

static struct group *group_of(struct findings *f, const struct finding *finding)
{
	uint64_t key = key_of(finding->detector, finding->place, finding->spawn);
	uint64_t *number = u64map_at(&f->numbers, key);
	struct group *g;

	if (!number) {
		f->no_memory = true;
		return NULL;
	}
	if (*number)
		return &f->groups[*number - 1];
	if (f->nr >= FINDING_GROUPS)
		return NULL;
	g = new_group(f, number);
	if (!g)
		return NULL;
	g->detector = finding->detector;
	g->place = finding->place;
	g->spawn = finding->spawn;
	return g;
}

static bool is_better_example(const struct group *g, const struct finding *finding)
{
	if (!g->count || finding->confidence != g->finding.confidence)
		return !g->count || finding->confidence > g->finding.confidence;
	if (!finding->doubt != !g->finding.doubt)
		return !finding->doubt;
	return finding->size_ns > g->finding.size_ns;
}

struct group *findings_add(struct findings *f, const struct finding *finding, bool *is_example)
{
	struct group *g = group_of(f, finding);

	*is_example = false;
	if (!g) {
		f->beyond++;
		return NULL;
	}
	if (is_better_example(g, finding)) {
		*is_example = true;
		g->finding = *finding;
		g->has_coro = finding->co;
		if (finding->co)
			g->example = *finding->co;
		g->finding.co = NULL; /* co may be destroyed at any time; the copy stays */
	}
	g->count++;
	g->needs |= finding->needs;
	g->by_confidence[finding->confidence]++;
	if (finding->confidence > g->confidence)
		g->confidence = finding->confidence;
	g->large += finding->shown_ns >= FINDING_LARGE;
	if (finding->size_ns > g->oldest_ns)
		g->oldest_ns = finding->size_ns;
	if (finding->co)
		affected_add(&f->affected, &g->affected, finding->co, finding);
	return g;
}

void findings_add_affected(struct findings *f, const struct finding *finding, const struct coro *co)
{
	uint64_t number, key = key_of(finding->detector, finding->place, finding->spawn);

	if (u64map_get(&f->numbers, key, &number) && number)
		affected_add(&f->affected, &f->groups[number - 1].affected, co, finding);
}

int findings_copy(struct findings *copy, const struct findings *f)
{
	size_t i;

	*copy = (struct findings){ .nr = f->nr, .room = f->nr, .beyond = f->beyond };
	if (!f->nr)
		return 0;
	if (affected_copy(&copy->affected, &f->affected) < 0)
		return -ENOMEM;
	copy->groups = malloc(f->nr * sizeof(*copy->groups));
	if (!copy->groups) {
		findings_release(copy);
		return -ENOMEM;
	}
	memcpy(copy->groups, f->groups, f->nr * sizeof(*copy->groups));
	for (i = 0; i < f->nr; i++) {
		const struct group *g = &f->groups[i];

		if (u64map_put(&copy->numbers, key_of(g->detector, g->place, g->spawn), i + 1) <
		    0) {
			findings_release(copy);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Merge @from into @g, which has the same detector, place and kind. */
static void finding_join(struct findings *f, struct group *g, const struct group *from)
{
	struct group sum = is_better_example(g, &from->finding) ? *from : *g;
	unsigned i;

	affected_join(&f->affected, &g->affected, &from->affected);
	sum.affected = g->affected;
	sum.count = g->count + from->count;
	for (i = 0; i < NR_CONFIDENCES; i++)
		sum.by_confidence[i] = g->by_confidence[i] + from->by_confidence[i];
	sum.confidence = g->confidence > from->confidence ? g->confidence : from->confidence;
	sum.oldest_ns = g->oldest_ns > from->oldest_ns ? g->oldest_ns : from->oldest_ns;
	sum.large = g->large + from->large;
	sum.needs = g->needs | from->needs;
	*g = sum;
}

int findings_move(struct findings *f, const uint32_t *into)
{
	size_t i, left = 0;

	u64map_release(&f->numbers);
	for (i = 0; i < f->nr; i++) {
		struct group *g = &f->groups[i];
		uint64_t *number;

		g->place = g->finding.place = into[g->place];
		if (g->has_coro)
			g->example.place = into[g->example.place];
		number = u64map_at(&f->numbers, key_of(g->detector, g->place, g->spawn));
		if (!number)
			return -ENOMEM;
		if (*number) {
			finding_join(f, &f->groups[*number - 1], g);
			continue;
		}
		if (left != i)
			f->groups[left] = *g;
		*number = ++left;
	}
	f->nr = left;
	return 0;
}

int findings_name_kind(struct findings *f, uint32_t kind)
{
	size_t i;

	u64map_release(&f->numbers);
	for (i = 0; i < f->nr; i++) {
		struct group *g = &f->groups[i];

		if (!g->spawn)
			g->spawn = g->finding.spawn = g->example.spawn = kind;
		if (u64map_put(&f->numbers, key_of(g->detector, g->place, g->spawn), i + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static void doubt_group(struct group *g, const char *why)
{
	int i;

	for (i = CONFIDENCE_STRONG; i < NR_CONFIDENCES; i++) {
		g->by_confidence[CONFIDENCE_SUSPECT] += g->by_confidence[i];
		g->by_confidence[i] = 0;
	}
	if (g->confidence > CONFIDENCE_SUSPECT)
		g->confidence = CONFIDENCE_SUSPECT;
	if (g->finding.confidence > CONFIDENCE_SUSPECT)
		g->finding.confidence = CONFIDENCE_SUSPECT;
	if (!g->finding.doubt)
		g->finding.doubt = why;
}

void findings_doubt(struct findings *f, const char *why)
{
	size_t i;

	for (i = 0; i < f->nr; i++) {
		if (f->groups[i].needs)
			doubt_group(&f->groups[i], why);
	}
}

static int finding_compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->confidence != y->confidence)
		return x->confidence > y->confidence ? -1 : 1;
	if (x->detector != y->detector)
		return detector_number(x->detector) < detector_number(y->detector) ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->oldest_ns != y->oldest_ns)
		return x->oldest_ns > y->oldest_ns ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

void findings_sort(struct findings *f)
{
	if (f->nr)
		qsort(f->groups, f->nr, sizeof(*f->groups), finding_compare);
	u64map_release(&f->numbers); /* the group numbers have changed */
}

void findings_release(struct findings *f)
{
	free(f->groups);
	u64map_release(&f->numbers);
	affected_release(&f->affected);
	*f = (struct findings){ 0 };
}

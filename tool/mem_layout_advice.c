/* SPDX-License-Identifier: MIT */
/* mem_layout_advice.c - what was tried for a type and what is advised, as text. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem.h"
#include "mem_layout.h"

#define AFFINITY_MAX 6 /* pairs shown */

void mem_layout_print_change(struct printer *p, const char *what, uint64_t before, uint64_t after)
{
	print_text(p, "  %-24s %14s -> %14s", what, number_text(before), number_text(after));
	if (before)
		print_text(p, "  %+6.1f %%", 100 * study_change(before, after));
	print_text(p, "\n");
}

/* ---- before and after ----------------------------------------------------- */

/*
 * The type's own count after the change: its count before, plus or minus the change of the whole
 * run.
 */
static uint64_t own_after(uint64_t own, uint64_t base, uint64_t after)
{
	uint64_t less = base > after ? base - after : 0, more = after > base ? after - base : 0;

	return own + more > less ? own + more - less : 0;
}

/*
 * Moving blocks changes the misses of other types, too: show the numbers of the two whole replays.
 */
static void layout_put_gain_of_run(struct printer *p, const struct study *s,
				   const struct study_candidate *c)
{
	uint32_t i;
	char what[64];

	for (i = 0; i < s->config.sim.nr_levels; i++) {
		snprintf(what, sizeof(what), "%s misses of the run", s->config.sim.level[i].name);
		mem_layout_print_change(p, what, c->base->misses[i], c->run.misses[i]);
	}
	if (c->base->from_peer || c->run.from_peer)
		mem_layout_print_change(p, "lines from other cores", c->base->from_peer,
					c->run.from_peer);
}

static void layout_put_gain(struct printer *p, const struct study *s, const struct study_type *t,
			    const struct study_candidate *c)
{
	const struct blame_counts *own = &t->profile->counts;
	uint64_t before;
	uint32_t i;
	char what[64];

	if (c->base == &t->moved) {
		layout_put_gain_of_run(p, s, c);
		return;
	}
	for (i = 0; i < s->config.sim.nr_levels; i++) {
		before = own->misses[i] / BLAME_ONE;
		snprintf(what, sizeof(what), "%s misses", s->config.sim.level[i].name);
		mem_layout_print_change(p, what, before,
					own_after(before, c->base->misses[i], c->run.misses[i]));
	}
	before = own->from_peer / BLAME_ONE;
	if (c->base->from_peer || c->run.from_peer)
		mem_layout_print_change(p, "lines from other cores", before,
					own_after(before, c->base->from_peer, c->run.from_peer));
}

/* Text for the user to paste: keep the tabs, sanitize names. */
void mem_layout_print_shape(struct printer *p, const struct shape *shape, uint32_t line)
{
	char *text = shape_text(shape, line), *rest = text, *one;

	if (!text)
		print_failed(p, -ENOMEM);
	while (rest && (one = strsep(&rest, "\n"))) {
		for (; *one == '\t'; one++)
			print_text(p, "\t");
		print_safe(p, one, 0);
		if (rest)
			print_text(p, "\n");
	}
	free(text);
}

static void layout_put_advice(struct printer *p, const struct study *s, const struct study_type *t,
			      const struct study_candidate *c, const char *word)
{
	const struct type *type = t->profile->pieces.of;

	print_text(p, "\n  %s: %s, %.1f %% of its cost less\n", word, c->shape->name,
		   100 * c->gain);
	layout_put_gain(p, s, t, c);
	print_text(p, "\n");
	mem_layout_print_shape(p, c->shape, s->config.sim.level[0].line);
	if (c->shape->align > 16 && c->shape->align > type->align &&
	    t->profile->in_blocks * 10 > t->profile->accesses)
		print_text(p,
			   "  blocks from malloc are aligned to 16 bytes: take aligned_alloc(%u, "
			   "...)\n",
			   c->shape->align);
	if (c->base == &t->moved)
		print_text(p, "  blocks of another size lie elsewhere: both sides were replayed "
			      "with them "
			      "next to each other\n");
	if (t->profile->in_variables && !type->is_cxx)
		print_text(p,
			   "  it is the type of variables, too: mind initialisers by position\n");
	if (t->profile->behind)
		print_text(p,
			   "  bytes behind it are accessed: mind code that does not find them by "
			   "sizeof\n");
	if (type->is_cxx && !c->shape->nr_cold)
		print_text(p, "  members are initialised in the order of their declaration: mind "
			      "constructors that rely on it\n");
}

/* ---- a type -------------------------------------------------------------- */

/* The pairs of fields that are used together most. */
static void layout_put_affinity(struct printer *p, const struct study_type *t)
{
	const struct pieces *m = &t->profile->pieces;
	uint32_t nr = m->nr < PROFILE_PIECES ? m->nr : PROFILE_PIECES, i, j, shown = 0;
	uint64_t below = UINT64_MAX;

	while (shown < AFFINITY_MAX) {
		uint64_t most = 0;

		for (i = 0; i < nr; i++) {
			for (j = i + 1; j < nr; j++) {
				uint64_t n = t->profile->both[i][j];

				most = n > most && n < below ? n : most;
			}
		}
		if (most * 20 < t->profile->visits || !most)
			break;
		for (i = 0; i < nr; i++) {
			for (j = i + 1; j < nr && shown < AFFINITY_MAX; j++) {
				if (t->profile->both[i][j] != most)
					continue;
				print_text(p, "%s", shown++ ? ", " : "  together: ");
				print_safe(p, m->list[i].name, 0);
				print_text(p, "+");
				print_safe(p, m->list[j].name, 0);
				print_text(p, " %.2f", profile_affinity(t->profile, i, j));
			}
		}
		below = most;
	}
	if (shown)
		print_text(p, "\n");
}

/* A type that costs little gains little, whatever the share. */
static void layout_put_no_gain(struct printer *p, const struct study_type *t)
{
	double most = 0;
	int i;

	for (i = 0; i < t->nr_candidates; i++) {
		if (!t->candidates[i].shape->nr_cold && t->candidates[i].gain > most)
			most = t->candidates[i].gain;
	}
	if (most > STUDY_GAIN_OF_TYPE)
		print_text(p,
			   "  no gain: up to %.1f %% of its cost, which is less than %.0f %% of "
			   "the run's\n",
			   100 * most, 100 * STUDY_GAIN_OF_ALL);
	else
		print_text(p, "  no gain: no layout that was tried%s saves %.0f %% of its cost\n",
			   t->split >= 0 ? " and needs no other code" : "",
			   100 * STUDY_GAIN_OF_TYPE);
}

/* What keeps members where they are. */
static void layout_put_fixed(struct printer *p, const struct study_type *t)
{
	if (!t->like)
		return;
	print_text(p,
		   t->nr_like == 1 ? "  the first member stays: " : "  the first %u members stay: ",
		   t->nr_like);
	print_safe(p, t->like, 0);
	print_text(p, t->nr_like == 1 ? " is used by itself, too\n" : " begins with them, too\n");
}

void mem_layout_print_advice(struct printer *p, const struct study *s, const struct study_type *t)
{
	int i;

	layout_put_affinity(p, t);
	if (s->remap.nr)
		return;
	if (t->obstacle) {
		print_text(p, "  no other layout is possible: %s\n", t->obstacle);
		return;
	}
	if (t->is_cheap) {
		print_text(p,
			   "  no other layout was tried: the type has less than %.1f %% of the "
			   "run's cost (--type tries)\n",
			   100 * STUDY_COST_LEAST);
		return;
	}
	layout_put_fixed(p, t);
	for (i = 0; i < t->nr_candidates; i++) {
		const struct study_candidate *c = &t->candidates[i];

		print_text(p, "  tried: %-40s %4llu bytes  %+6.1f %% of its cost\n", c->shape->name,
			   (unsigned long long)c->shape->bytes, -100 * c->gain);
	}
	if (t->best >= 0)
		layout_put_advice(p, s, t, &t->candidates[t->best], "advice");
	else
		layout_put_no_gain(p, t);
	if (t->split >= 0)
		layout_put_advice(p, s, t, &t->candidates[t->split],
				  "more, with changes to the code");
}

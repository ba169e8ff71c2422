/* SPDX-License-Identifier: MIT */
/* mem_layout_text.c - advice on layouts, as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "mem.h"
#include "mem_layout.h"

#define FIELDS_MAX   24 /* shown per type */
#define AFFINITY_MAX 6  /* pairs shown */

static const char *layout_whole(uint64_t in_256)
{
	return number_text((in_256 + BLAME_ONE / 2) / BLAME_ONE);
}

static void put_change(const char *what, uint64_t before, uint64_t after)
{
	printf("  %-24s %14s -> %14s", what, number_text(before), number_text(after));
	if (before)
		printf("  %+6.1f %%", 100 * study_change(before, after));
	putchar('\n');
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
static void put_gain_of_run(const struct study *s, const struct study_candidate *c)
{
	uint32_t i;
	char what[64];

	for (i = 0; i < s->config.sim.nr_levels; i++) {
		snprintf(what, sizeof(what), "%s misses of the run", s->config.sim.level[i].name);
		put_change(what, c->base->misses[i], c->run.misses[i]);
	}
	if (c->base->from_peer || c->run.from_peer)
		put_change("lines from other cores", c->base->from_peer, c->run.from_peer);
}

static void put_gain(const struct study *s, const struct study_type *t,
		     const struct study_candidate *c)
{
	const struct blame_counts *own = &t->profile->counts;
	uint64_t before;
	uint32_t i;
	char what[64];

	if (c->base == &t->moved) {
		put_gain_of_run(s, c);
		return;
	}
	for (i = 0; i < s->config.sim.nr_levels; i++) {
		before = own->misses[i] / BLAME_ONE;
		snprintf(what, sizeof(what), "%s misses", s->config.sim.level[i].name);
		put_change(what, before, own_after(before, c->base->misses[i], c->run.misses[i]));
	}
	before = own->from_peer / BLAME_ONE;
	if (c->base->from_peer || c->run.from_peer)
		put_change("lines from other cores", before,
			   own_after(before, c->base->from_peer, c->run.from_peer));
}

/* Text for the user to paste: keep the tabs, sanitize names. */
static void layout_put_text(const struct shape *shape, uint32_t line)
{
	char *text = shape_text(shape, line), *rest = text, *one;

	while (rest && (one = strsep(&rest, "\n"))) {
		for (; *one == '\t'; one++)
			putchar('\t');
		text_put(stdout, one);
		if (rest)
			putchar('\n');
	}
	free(text);
}

static void put_advice(const struct study *s, const struct study_type *t,
		       const struct study_candidate *c, const char *word)
{
	const struct type *type = t->profile->pieces.of;

	printf("\n  %s: %s, %.1f %% of its cost less\n", word, c->shape->name, 100 * c->gain);
	put_gain(s, t, c);
	putchar('\n');
	layout_put_text(c->shape, s->config.sim.level[0].line);
	if (c->shape->align > 16 && c->shape->align > type->align &&
	    t->profile->in_blocks * 10 > t->profile->accesses)
		printf("  blocks from malloc are aligned to 16 bytes: take aligned_alloc(%u, "
		       "...)\n",
		       c->shape->align);
	if (c->base == &t->moved)
		puts("  blocks of another size lie elsewhere: both sides were replayed with them "
		     "next to each other");
	if (type->is_cxx && !c->shape->nr_cold)
		puts("  members are initialised in the order of their declaration: mind "
		     "constructors that rely on it");
}

/* ---- a type -------------------------------------------------------------- */

static void layout_put_fields(const struct study_type *t)
{
	const struct pieces *p = &t->profile->pieces;
	char text[TEXT_SIZE];
	uint32_t i;

	printf("  %6s %6s  %-28s %14s %14s %14s %8s\n", "offset", "bytes", "field", "reads",
	       "writes", "L1 misses", "visits");
	for (i = 0; i < p->nr && i < FIELDS_MAX; i++) {
		const struct piece *f = &p->list[i];
		int width = text_width(f->name);

		printf("  %6llu %6llu  ", (unsigned long long)f->offset,
		       (unsigned long long)f->size);
		text_put_short(stdout, f->name, 28);
		printf("%*s %14s %14s %14s", width < 28 ? 28 - width : 0, "",
		       layout_whole(f->reads), layout_whole(f->writes), layout_whole(f->misses));
		if (t->profile->visits)
			printf(" %6.1f %%", number_percent(f->visits, t->profile->visits));
		putchar('\n');
	}
	if (p->nr > FIELDS_MAX)
		printf("  and %s more fields (--json tells all)\n",
		       text_count(text, p->nr - FIELDS_MAX));
}

/* The pairs of fields that are used together most. */
static void put_affinity(const struct study_type *t)
{
	const struct pieces *p = &t->profile->pieces;
	uint32_t nr = p->nr < PROFILE_PIECES ? p->nr : PROFILE_PIECES, i, j, shown = 0;
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
				printf("%s", shown++ ? ", " : "  together: ");
				text_put(stdout, p->list[i].name);
				putchar('+');
				text_put(stdout, p->list[j].name);
				printf(" %.2f", profile_affinity(t->profile, i, j));
			}
		}
		below = most;
	}
	if (shown)
		putchar('\n');
}

static void layout_put_type(const struct study *s, const struct study_type *t)
{
	const struct profile_type *p = t->profile;
	const struct type *type = p->pieces.of;
	int i;

	putchar('\n');
	text_put(stdout, t->name);
	printf(", %llu bytes", (unsigned long long)type->size);
	if (type->file) {
		fputs(", ", stdout);
		text_put(stdout, type->file);
		printf(":%u", type->line);
	}
	printf("\n  %s accesses, %s L1 misses, %.1f %% of the cost of all misses\n",
	       layout_whole(p->counts.reads + p->counts.writes), layout_whole(p->counts.misses[0]),
	       number_percent(p->cost / BLAME_ONE, s->before.cost));
	if (p->fetched)
		printf("  of a line that is fetched, %.1f of %u bytes are used\n",
		       (double)p->used / (double)p->fetched, s->config.sim.level[0].line);
	layout_put_fields(t);
	put_affinity(t);
	if (s->remap.nr)
		return;
	if (t->obstacle) {
		printf("  no other layout is possible: %s\n", t->obstacle);
		return;
	}
	for (i = 0; i < t->nr_candidates; i++) {
		const struct study_candidate *c = &t->candidates[i];

		printf("  tried: %-40s %4llu bytes  %+6.1f %% of its cost\n", c->shape->name,
		       (unsigned long long)c->shape->bytes, -100 * c->gain);
	}
	if (t->best >= 0)
		put_advice(s, t, &t->candidates[t->best], "advice");
	else
		printf("  no gain: no layout that was tried saves %.0f %% of its cost\n",
		       100 * STUDY_GAIN_OF_TYPE);
	if (t->split >= 0)
		put_advice(s, t, &t->candidates[t->split], "more, with changes to the code");
}

/* ---- the whole result ---------------------------------------------------- */

static void put_total(const struct study *s)
{
	char what[64];
	uint32_t i;

	puts(s->remap.nr ? "\nthe whole run, with the layouts of the file"
			 : "\nthe whole run, with all advice (but splits)");
	for (i = 0; i < s->config.sim.nr_levels; i++) {
		snprintf(what, sizeof(what), "%s misses", s->config.sim.level[i].name);
		put_change(what, s->base.misses[i], s->after.misses[i]);
	}
	if (s->base.from_peer || s->after.from_peer)
		put_change("lines from other cores", s->base.from_peer, s->after.from_peer);
	if (s->base.false_sharing || s->after.false_sharing)
		put_change("falsely shared", s->base.false_sharing, s->after.false_sharing);
	put_change("cost", s->base.cost, s->after.cost);
}

static void put_machine(const struct mem_layout_result *r)
{
	const struct sim_config *c = &r->study->config.sim;
	uint32_t i;

	text_put(stdout, r->path);
	printf(": %s accesses; caches of ", number_text(r->study->nr_accesses));
	text_put(stdout, r->machine);
	fputs(":", stdout);
	for (i = 0; i < c->nr_levels; i++)
		printf(" %s %s", c->level[i].name, number_bytes(c->level[i].size));
	putchar('\n');
	if (r->study->lost)
		printf("%s accesses are missing in the trace: what follows is of the others\n",
		       number_text(r->study->lost));
}

void mem_layout_text(const struct mem_layout_result *r)
{
	const struct study *s = r->study;
	size_t i;

	put_machine(r);
	if (!s->nr_types)
		puts("no access is to a type with fields: compile with -g, and tell the types of "
		     "blocks (cacheray.h)");
	for (i = 0; i < s->remap.nr; i++) {
		putchar('\n');
		layout_put_text(s->remap.types[i].shape, s->config.sim.level[0].line);
	}
	for (i = 0; i < s->nr_types; i++)
		layout_put_type(s, &s->types[i]);
	if (s->nr_all > s->nr_types && !s->config.type && !s->remap.nr)
		printf("\n%s more types were used (--top, --type)\n",
		       number_text(s->nr_all - s->nr_types));
	if (s->has_after)
		put_total(s);
}

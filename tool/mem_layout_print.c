/* SPDX-License-Identifier: MIT */
/* mem_layout_print.c - the result of a layout study, as text or as one JSON object. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory_shortage.h"
#include "base/text.h"
#include "json_file.h"
#include "mem.h"
#include "mem_layout.h"

#define FIELDS_MAX 24 /* shown per type, in text */
#define UNSEEN_MAX 4u /* owners without fields, in text */

/* Counts are in units of 1/256. */
static double layout_units(uint64_t in_256)
{
	return (double)in_256 / BLAME_ONE;
}

static const char *layout_whole(uint64_t in_256)
{
	return number_text((in_256 + BLAME_ONE / 2) / BLAME_ONE);
}

/* ---- JSON only -------------------------------------------------------------- */

static void layout_json_run(struct printer *p, const struct study *s, const char *key,
			    const struct study_run *run)
{
	uint32_t i;

	print_object(p, key);
	print_object(p, "misses");
	for (i = 0; i < s->config.sim.nr_levels; i++)
		print_count(p, s->config.sim.level[i].name, NULL, run->misses[i]);
	print_object_end(p);
	print_count(p, "from_other_cores", NULL, run->from_peer);
	print_count(p, "invalidations", NULL, run->invalidations);
	print_count(p, "cost", NULL, run->cost);
	print_object_end(p);
}

static void layout_json_misses(struct printer *p, const struct study *s,
			       const struct blame_counts *c)
{
	uint32_t i;

	print_object(p, "misses");
	for (i = 0; i < s->config.sim.nr_levels; i++)
		print_real(p, s->config.sim.level[i].name, NULL, layout_units(c->misses[i]));
	print_object_end(p);
	print_real(p, "coherence_misses", NULL, layout_units(c->by_class[SIM_COHERENCE]));
	print_real(p, "false_sharing", NULL, layout_units(c->false_sharing));
}

/* Every leaf field by its path: the parts of the members. */
static void layout_json_leaves(struct printer *p, const struct study *s, const struct study_type *t)
{
	const struct blame_owner **owners;
	size_t nr = blame_owners(s->blame, NULL, 0), i;
	uint32_t j;

	owners = calloc(nr + 1, sizeof(const struct blame_owner *));
	if (!owners) {
		memory_shortage_note();
		return;
	}
	blame_owners(s->blame, owners, nr);
	print_list(p, "fields");
	for (i = 0; i < nr; i++) {
		for (j = 0; owners[i]->owner == t->profile->owner && j < owners[i]->nr_fields;
		     j++) {
			const struct blame_field *f = &owners[i]->fields[j];

			if (j + 2 >= owners[i]->nr_fields && !f->counts.reads && !f->counts.writes)
				continue;
			print_object(p, NULL);
			print_string(p, "name", blame_field_name(s->blame, owners[i], j));
			print_real(p, "reads", NULL, layout_units(f->counts.reads));
			print_real(p, "writes", NULL, layout_units(f->counts.writes));
			layout_json_misses(p, s, &f->counts);
			print_object_end(p);
		}
	}
	print_list_end(p);
	free(owners);
}

static void layout_json_affinity(struct printer *p, const struct study_type *t)
{
	const struct pieces *m = &t->profile->pieces;
	uint32_t nr = m->nr < PROFILE_PIECES ? m->nr : PROFILE_PIECES, i, j;

	print_list(p, "affinity");
	for (i = 0; i < nr; i++) {
		for (j = i + 1; j < nr; j++) {
			if (!t->profile->both[i][j])
				continue;
			print_object(p, NULL);
			print_string(p, "a", m->list[i].name);
			print_string(p, "b", m->list[j].name);
			print_count(p, "visits", NULL, t->profile->both[i][j]);
			print_real(p, "affinity", NULL, profile_affinity(t->profile, i, j));
			print_object_end(p);
		}
	}
	print_list_end(p);
}

static void layout_json_shape(struct printer *p, const struct study *s, const struct shape *shape)
{
	char *text = shape_text(shape, s->config.sim.level[0].line);
	const struct pieces *m = shape->pieces;
	uint32_t i;

	print_string(p, "name", shape->name);
	print_count(p, "size", NULL, shape->bytes);
	print_count(p, "align", NULL, shape->align);
	print_count(p, "cold_size", NULL, shape->cold_bytes);
	print_list(p, "offsets");
	for (i = 0; i < m->nr; i++) {
		uint32_t n = shape->order[i];

		print_object(p, NULL);
		print_string(p, "name", m->list[n].name);
		print_count(p, "offset", NULL, shape->offset[n]);
		print_count(p, "size", NULL, shape->size[n]);
		print_flag(p, "cold", NULL, i + shape->nr_cold >= m->nr);
		print_object_end(p);
	}
	print_list_end(p);
	print_string(p, "text", text);
	if (!text)
		print_failed(p, -ENOMEM);
	free(text);
}

static void layout_json_candidates(struct printer *p, const struct study *s,
				   const struct study_type *t)
{
	int i;

	print_list(p, "tried");
	for (i = 0; i < t->nr_candidates; i++) {
		const struct study_candidate *c = &t->candidates[i];

		print_object(p, NULL);
		layout_json_shape(p, s, c->shape);
		print_real(p, "gain", NULL, c->gain);
		layout_json_run(p, s, "before", c->base);
		layout_json_run(p, s, "after", &c->run);
		print_object_end(p);
	}
	print_list_end(p);
	print_known(p, "advice", NULL, t->best >= 0, (uint64_t)t->best, NULL);
	print_known(p, "split", NULL, t->split >= 0, (uint64_t)t->split, NULL);
	print_string(p, "obstacle", t->obstacle);
	print_string(p, "not_tried",
		     t->is_cheap ? "its share of the run's cost is too small" : NULL);
	print_string(p, "front_like", t->like);
}

/* ---- a type ------------------------------------------------------------------- */

static void layout_print_members(struct printer *p, const struct study_type *t)
{
	const struct pieces *m = &t->profile->pieces;
	uint32_t i;

	print_text(p, "  %6s %6s  %-28s %14s %14s %14s %8s\n", "offset", "bytes", "field", "reads",
		   "writes", "L1 misses", "visits");
	print_list(p, "members");
	for (i = 0; i < m->nr && (p->is_json || i < FIELDS_MAX); i++) {
		const struct piece *f = &m->list[i];

		print_row(p);
		print_text(p, "  %6llu %6llu  ", (unsigned long long)f->offset,
			   (unsigned long long)f->size);
		print_name(p, "name", 28, f->name);
		print_count(p, "offset", NULL, f->offset);
		print_count(p, "size", NULL, f->size);
		print_real(p, "reads", NULL, layout_units(f->reads));
		print_real(p, "writes", NULL, layout_units(f->writes));
		print_real(p, "l1_misses", NULL, layout_units(f->misses));
		print_text(p, " %14s %14s %14s", layout_whole(f->reads), layout_whole(f->writes),
			   layout_whole(f->misses));
		print_count(p, "visits", NULL, f->visits);
		if (t->profile->visits)
			print_text(p, " %6.1f %%", number_percent(f->visits, t->profile->visits));
		print_row_end(p);
	}
	print_list_end(p);
	if (i < m->nr)
		print_text(p, "  and %s more fields (--json lists all)\n", number_text(m->nr - i));
}

static void layout_json_counts(struct printer *p, const struct study *s,
			       const struct profile_type *t)
{
	print_real(p, "reads", NULL, layout_units(t->counts.reads));
	print_real(p, "writes", NULL, layout_units(t->counts.writes));
	layout_json_misses(p, s, &t->counts);
	print_real(p, "cost", NULL, layout_units(t->cost));
	print_count(p, "visits", NULL, t->visits);
	print_count(p, "lines_fetched", NULL, t->fetched);
	if (!t->fetched)
		jw_field_null(&p->json, "bytes_used_per_line");
}

static void layout_print_type(struct printer *p, const struct study *s, const struct study_type *t)
{
	const struct profile_type *profile = t->profile;
	const struct type *type = profile->pieces.of;

	print_object(p, NULL);
	print_text(p, "\n");
	print_string(p, "type", t->name);
	print_safe(p, t->name, 0);
	print_number(p, "size", ", %s bytes", type->size);
	print_count(p, "align", NULL, type->align);
	print_string(p, "file", type->file);
	if (type->file) {
		print_text(p, ", ");
		print_safe(p, type->file, 0);
	}
	print_number(p, "line", type->file ? ":%s" : NULL, type->line);
	if (p->is_json)
		layout_json_counts(p, s, profile);
	print_text(p, "\n  %s accesses, %s L1 misses, %.1f %% of the cost of all misses\n",
		   layout_whole(profile->counts.reads + profile->counts.writes),
		   layout_whole(profile->counts.misses[0]),
		   number_percent(profile->cost / BLAME_ONE, s->before.cost));
	if (profile->fetched) {
		print_real(p, "bytes_used_per_line", "  of a line that is fetched, %.1f",
			   (double)profile->used / (double)profile->fetched);
		print_text(p, " of %u bytes are used\n", s->config.sim.level[0].line);
	}
	layout_print_members(p, t);
	if (p->is_json) {
		layout_json_leaves(p, s, t);
		layout_json_affinity(p, t);
		if (!s->remap.nr)
			layout_json_candidates(p, s, t);
	} else {
		mem_layout_print_advice(p, s, t);
	}
	print_object_end(p);
}

/* ---- the whole result ------------------------------------------------------------ */

static void layout_print_remap(struct printer *p, const struct study *s)
{
	size_t i;

	print_list(p, "remap");
	for (i = 0; i < s->remap.nr; i++) {
		print_object(p, NULL);
		if (p->is_json) {
			print_string(p, "type", s->remap.types[i].pieces.of->name);
			layout_json_shape(p, s, s->remap.types[i].shape);
		} else {
			print_text(p, "\n");
			mem_layout_print_shape(p, s->remap.types[i].shape,
					       s->config.sim.level[0].line);
		}
		print_object_end(p);
	}
	print_list_end(p);
}

static void layout_print_types(struct printer *p, const struct study *s)
{
	size_t i;

	print_list(p, "types");
	for (i = 0; i < s->nr_types; i++)
		layout_print_type(p, s, &s->types[i]);
	print_list_end(p);
}

/* The largest parts of the cost that is in memory without fields. */
static void layout_name_unseen(struct printer *p, const struct study *s,
			       const struct blame_owner **owners, size_t nr)
{
	size_t i, shown = 0;

	for (i = 0; i < nr && shown < UNSEEN_MAX; i++) {
		uint64_t cost = blame_cost(s->blame, &owners[i]->counts) / BLAME_ONE;

		if (owners[i]->fields || !cost)
			continue;
		print_text(p, "  %5.1f %%  ", number_percent(cost, s->before.cost));
		print_safe(p, mem_places_owner(blame_places(s->blame), owners[i]->owner)->name, 0);
		print_text(p, "\n");
		shown++;
	}
}

/* The cost of misses in memory whose type is not known, or which has no fields. */
static void layout_print_unseen(struct printer *p, const struct study *s)
{
	const struct blame_owner **owners;
	size_t nr = blame_owners(s->blame, NULL, 0), i;
	uint64_t unseen = 0;

	owners = calloc(nr + 1, sizeof(const struct blame_owner *));
	if (!owners) {
		memory_shortage_note();
		return;
	}
	blame_owners(s->blame, owners, nr);
	for (i = 0; i < nr; i++) {
		if (!owners[i]->fields)
			unseen += blame_cost(s->blame, &owners[i]->counts);
	}
	print_real(p, "unseen_cost", NULL, layout_units(unseen));
	if (unseen && !p->is_json) {
		print_text(p,
			   "\n%.1f %% of the cost of all misses is in memory without a type with "
			   "fields: no advice\n",
			   number_percent(unseen / BLAME_ONE, s->before.cost));
		layout_name_unseen(p, s, owners, nr);
	}
	free(owners);
}

static void layout_put_total(struct printer *p, const struct study *s)
{
	char what[64];
	uint32_t i;

	print_text(p, "%s\n",
		   s->remap.nr ? "\nthe whole run, with the layouts of the file"
			       : "\nthe whole run, with all advice (but splits)");
	for (i = 0; i < s->config.sim.nr_levels; i++) {
		snprintf(what, sizeof(what), "%s misses", s->config.sim.level[i].name);
		mem_layout_print_change(p, what, s->base.misses[i], s->after.misses[i]);
	}
	if (s->base.from_peer || s->after.from_peer)
		mem_layout_print_change(p, "lines from other cores", s->base.from_peer,
					s->after.from_peer);
	if (s->base.false_sharing || s->after.false_sharing)
		mem_layout_print_change(p, "falsely shared", s->base.false_sharing,
					s->after.false_sharing);
	mem_layout_print_change(p, "cost", s->base.cost, s->after.cost);
}

static void layout_print_head(struct printer *p, const struct mem_layout_result *r)
{
	const struct study *s = r->study;
	const struct sim_config *c = &s->config.sim;
	uint32_t i;

	print_string(p, "trace", r->path);
	print_safe(p, r->path, 0);
	print_string(p, "machine", r->machine);
	print_count(p, "accesses", ": %s accesses; caches of ", s->nr_accesses);
	print_safe(p, r->machine, 0);
	print_text(p, ":");
	for (i = 0; i < c->nr_levels; i++)
		print_text(p, " %s %s", c->level[i].name, number_bytes(c->level[i].size));
	print_text(p, "\n");
	print_count(p, "lost",
		    s->lost ? "%s accesses are missing in the trace: what follows is of the "
			      "others\n"
			    : NULL,
		    s->lost);
	print_count(p, "left_out", NULL, s->left_out);
	print_count(p, "line", NULL, c->level[0].line);
}

static void layout_print_json(struct printer *p, const struct study *s)
{
	print_string(p, "problem", blame_problem(s->blame, 0));
	print_count(p, "types_used", NULL, s->nr_all);
	layout_print_unseen(p, s);
	layout_print_types(p, s);
	layout_print_remap(p, s);
	layout_json_run(p, s, "traced", &s->before);
	layout_json_run(p, s, "before", &s->base);
	layout_json_run(p, s, "after", &s->after);
	print_flag(p, "changed", NULL, s->has_after);
}

static void layout_print_text(struct printer *p, const struct study *s)
{
	if (!s->nr_types)
		print_text(p, "no access is to a type with fields: compile with -g, and tell the "
			      "types of blocks (cacheray.h)\n");
	layout_print_remap(p, s);
	layout_print_types(p, s);
	if (s->nr_all > s->nr_types && !s->config.type && !s->remap.nr)
		print_text(p, "\n%s more types were used (--top, --type)\n",
			   number_text(s->nr_all - s->nr_types));
	layout_print_unseen(p, s);
	if (s->has_after)
		layout_put_total(p, s);
}

void mem_layout_print(const struct mem_layout_result *r, bool json)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), json);
	layout_print_head(&p, r);
	if (json)
		layout_print_json(&p, r->study);
	else
		layout_print_text(&p, r->study);
	printer_end(&p);
}

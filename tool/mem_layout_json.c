/* SPDX-License-Identifier: MIT */
/* mem_layout_json.c - advice on layouts, as one JSON object. */
#include <stdio.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "mem_layout.h"

static double layout_units(uint64_t in_256)
{
	return (double)in_256 / BLAME_ONE;
}

static void layout_json_run(struct json_writer *w, const struct study *s, const char *key,
			    const struct study_run *run)
{
	uint32_t i;

	jw_key(w, key);
	jw_object_begin(w);
	jw_key(w, "misses");
	jw_object_begin(w);
	for (i = 0; i < s->config.sim.nr_levels; i++)
		jw_field_u64(w, s->config.sim.level[i].name, run->misses[i]);
	jw_object_end(w);
	jw_field_u64(w, "from_other_cores", run->from_peer);
	jw_field_u64(w, "invalidations", run->invalidations);
	jw_field_u64(w, "cost", run->cost);
	jw_object_end(w);
}

static void json_misses(struct json_writer *w, const struct study *s, const struct blame_counts *c)
{
	uint32_t i;

	jw_key(w, "misses");
	jw_object_begin(w);
	for (i = 0; i < s->config.sim.nr_levels; i++)
		jw_field_double(w, s->config.sim.level[i].name, layout_units(c->misses[i]));
	jw_object_end(w);
	jw_field_double(w, "coherence_misses", layout_units(c->by_class[SIM_COHERENCE]));
	jw_field_double(w, "false_sharing", layout_units(c->false_sharing));
}

static void json_fields(struct json_writer *w, const struct study_type *t)
{
	const struct pieces *p = &t->profile->pieces;
	uint32_t i;

	jw_key(w, "members");
	jw_array_begin(w);
	for (i = 0; i < p->nr; i++) {
		const struct piece *f = &p->list[i];

		jw_object_begin(w);
		jw_field_string(w, "name", f->name);
		jw_field_u64(w, "offset", f->offset);
		jw_field_u64(w, "size", f->size);
		jw_field_double(w, "reads", layout_units(f->reads));
		jw_field_double(w, "writes", layout_units(f->writes));
		jw_field_double(w, "l1_misses", layout_units(f->misses));
		jw_field_u64(w, "visits", f->visits);
		jw_object_end(w);
	}
	jw_array_end(w);
}

/* Every leaf field by its path: the parts of the members. */
static void json_leaves(struct json_writer *w, const struct study *s, const struct study_type *t)
{
	const struct blame_owner **owners;
	size_t nr = blame_owners(s->blame, NULL, 0), i;
	uint32_t j;

	owners = calloc(nr + 1, sizeof(const struct blame_owner *));
	if (!owners)
		return;
	blame_owners(s->blame, owners, nr);
	jw_key(w, "fields");
	jw_array_begin(w);
	for (i = 0; i < nr; i++) {
		for (j = 0; owners[i]->owner == t->profile->owner && j < owners[i]->nr_fields;
		     j++) {
			const struct blame_field *f = &owners[i]->fields[j];

			if (j + 2 >= owners[i]->nr_fields && !f->counts.reads && !f->counts.writes)
				continue;
			jw_object_begin(w);
			jw_field_string(w, "name", blame_field_name(s->blame, owners[i], j));
			jw_field_double(w, "reads", layout_units(f->counts.reads));
			jw_field_double(w, "writes", layout_units(f->counts.writes));
			json_misses(w, s, &f->counts);
			jw_object_end(w);
		}
	}
	jw_array_end(w);
	free(owners);
}

static void json_affinity(struct json_writer *w, const struct study_type *t)
{
	const struct pieces *p = &t->profile->pieces;
	uint32_t nr = p->nr < PROFILE_PIECES ? p->nr : PROFILE_PIECES, i, j;

	jw_key(w, "affinity");
	jw_array_begin(w);
	for (i = 0; i < nr; i++) {
		for (j = i + 1; j < nr; j++) {
			if (!t->profile->both[i][j])
				continue;
			jw_object_begin(w);
			jw_field_string(w, "a", p->list[i].name);
			jw_field_string(w, "b", p->list[j].name);
			jw_field_u64(w, "visits", t->profile->both[i][j]);
			jw_field_double(w, "affinity", profile_affinity(t->profile, i, j));
			jw_object_end(w);
		}
	}
	jw_array_end(w);
}

static void json_shape(struct json_writer *w, const struct study *s, const struct shape *shape)
{
	char *text = shape_text(shape, s->config.sim.level[0].line);
	const struct pieces *p = shape->pieces;
	uint32_t i;

	jw_field_string(w, "name", shape->name);
	jw_field_u64(w, "size", shape->bytes);
	jw_field_u64(w, "align", shape->align);
	jw_field_u64(w, "cold_size", shape->cold_bytes);
	jw_key(w, "offsets");
	jw_array_begin(w);
	for (i = 0; i < p->nr; i++) {
		uint32_t n = shape->order[i];

		jw_object_begin(w);
		jw_field_string(w, "name", p->list[n].name);
		jw_field_u64(w, "offset", shape->offset[n]);
		jw_field_u64(w, "size", shape->size[n]);
		jw_field_bool(w, "cold", i + shape->nr_cold >= p->nr);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_field_string(w, "text", text);
	free(text);
}

static void json_candidates(struct json_writer *w, const struct study *s,
			    const struct study_type *t)
{
	int i;

	jw_key(w, "tried");
	jw_array_begin(w);
	for (i = 0; i < t->nr_candidates; i++) {
		const struct study_candidate *c = &t->candidates[i];

		jw_object_begin(w);
		json_shape(w, s, c->shape);
		jw_field_double(w, "gain", c->gain);
		layout_json_run(w, s, "before", c->base);
		layout_json_run(w, s, "after", &c->run);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_key(w, "advice");
	if (t->best >= 0)
		jw_i64(w, t->best);
	else
		jw_null(w);
	jw_key(w, "split");
	if (t->split >= 0)
		jw_i64(w, t->split);
	else
		jw_null(w);
	jw_field_string(w, "obstacle", t->obstacle);
}

static void json_type(struct json_writer *w, const struct study *s, const struct study_type *t)
{
	const struct profile_type *p = t->profile;
	const struct type *type = p->pieces.of;

	jw_object_begin(w);
	jw_field_string(w, "type", t->name);
	jw_field_u64(w, "size", type->size);
	jw_field_u64(w, "align", type->align);
	jw_field_string(w, "file", type->file);
	jw_field_u64(w, "line", type->line);
	jw_field_double(w, "reads", layout_units(p->counts.reads));
	jw_field_double(w, "writes", layout_units(p->counts.writes));
	json_misses(w, s, &p->counts);
	jw_field_double(w, "cost", layout_units(p->cost));
	jw_field_u64(w, "visits", p->visits);
	jw_field_u64(w, "lines_fetched", p->fetched);
	if (p->fetched)
		jw_field_double(w, "bytes_used_per_line", (double)p->used / (double)p->fetched);
	else
		jw_field_null(w, "bytes_used_per_line");
	json_fields(w, t);
	json_leaves(w, s, t);
	json_affinity(w, t);
	if (!s->remap.nr)
		json_candidates(w, s, t);
	jw_object_end(w);
}

void mem_layout_json(const struct mem_layout_result *r)
{
	const struct study *s = r->study;
	struct json_writer w;
	size_t i;

	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	jw_field_string(&w, "trace", r->path);
	jw_field_string(&w, "machine", r->machine);
	jw_field_u64(&w, "accesses", s->nr_accesses);
	jw_field_u64(&w, "lost", s->lost);
	jw_field_u64(&w, "left_out", s->left_out);
	jw_field_u64(&w, "line", s->config.sim.level[0].line);
	jw_field_string(&w, "problem", blame_problem(s->blame, 0));
	jw_field_u64(&w, "types_used", s->nr_all);
	jw_key(&w, "types");
	jw_array_begin(&w);
	for (i = 0; i < s->nr_types; i++)
		json_type(&w, s, &s->types[i]);
	jw_array_end(&w);
	jw_key(&w, "remap");
	jw_array_begin(&w);
	for (i = 0; i < s->remap.nr; i++) {
		jw_object_begin(&w);
		jw_field_string(&w, "type", s->remap.types[i].pieces.of->name);
		json_shape(&w, s, s->remap.types[i].shape);
		jw_object_end(&w);
	}
	jw_array_end(&w);
	layout_json_run(&w, s, "traced", &s->before);
	layout_json_run(&w, s, "before", &s->base);
	layout_json_run(&w, s, "after", &s->after);
	jw_field_bool(&w, "changed", s->has_after);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

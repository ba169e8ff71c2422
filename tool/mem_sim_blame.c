/* SPDX-License-Identifier: MIT */
/* mem_sim_blame.c - misses by type and field, and by source line. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mem.h"
#include "mem_sim.h"

#define FIELDS_SHOWN 8

/* Round a count of blame, which is in units of 1/256. */
static uint64_t whole(uint64_t in_256)
{
	return in_256 / BLAME_ONE + (in_256 % BLAME_ONE >= BLAME_ONE / 2);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* ---- text ------------------------------------------------------------------------ */

static void print_head(const struct mem_sim_result *r, const char *what)
{
	const struct sim_config *c = sim_config_of(r->sim);

	printf("\n%-36s %12s %8s misses %4s misses  coherence      false\n", what, "accesses",
	       c->level[0].name, c->level[c->nr_levels - 1].name);
}

static void print_counts(const struct mem_sim_result *r, const struct blame_counts *n)
{
	uint32_t last = sim_config_of(r->sim)->nr_levels - 1;

	printf(" %12s %15s %11s %10s %10s\n", number_text(whole(n->reads + n->writes)),
	       number_text(whole(n->misses[0])), number_text(whole(n->misses[last])),
	       number_text(whole(n->by_class[SIM_COHERENCE])),
	       number_text(whole(n->false_sharing)));
}

/* @text in a column of @width columns; cut if longer. */
static void print_name(const char *text, int width)
{
	int used = text_width(text);

	if (used > width)
		text_put_short(stdout, text, width);
	else
		text_put(stdout, text);
	for (; used < width; used++)
		putchar(' ');
}

/* The field with the most misses that is not shown yet; nr_fields: none. */
static uint32_t next_field(const struct blame_owner *o, const bool *shown)
{
	uint32_t i, best = o->nr_fields;

	for (i = 0; i < o->nr_fields && i < 1024; i++) {
		if (shown[i] || !(o->fields[i].counts.reads + o->fields[i].counts.writes))
			continue;
		if (best == o->nr_fields ||
		    o->fields[i].counts.misses[0] > o->fields[best].counts.misses[0])
			best = i;
	}
	return best;
}

static void print_fields(const struct mem_sim_result *r, const struct blame_owner *o)
{
	bool shown[1024] = { false };
	uint32_t i, n;

	for (n = 0; o->fields && n < FIELDS_SHOWN; n++) {
		i = next_field(o, shown);
		if (i == o->nr_fields)
			return;
		shown[i] = true;
		fputs("  ", stdout);
		print_name(blame_field_name(r->blame, o, i), 34);
		print_counts(r, &o->fields[i].counts);
	}
	for (n = 0; o->fields && (i = next_field(o, shown)) < o->nr_fields; n++)
		shown[i] = true;
	if (n)
		printf("  and %u more\n", n);
}

static void print_owners(const struct mem_sim_result *r)
{
	const struct blame_owner *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_owners(r->blame, list, r->top), i;

	print_head(r, "by type and field");
	for (i = 0; i < nr && i < r->top; i++) {
		print_name(mem_places_owner(blame_places(r->blame), list[i]->owner)->name, 36);
		print_counts(r, &list[i]->counts);
		print_fields(r, list[i]);
	}
	if (nr > r->top)
		printf("and %zu more\n", nr - r->top);
}

static void print_sites(const struct mem_sim_result *r)
{
	const struct blame_site *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_sites(r->blame, list, r->top), i;
	char place[256];

	print_head(r, "by source line");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_site *s = list[i];

		if (s->file)
			snprintf(place, sizeof(place), "%s:%u %s", base_name(s->file), s->line,
				 s->function ? s->function : "");
		else if (s->pc)
			snprintf(place, sizeof(place), "0x%llx %s", (unsigned long long)s->pc,
				 s->function ? s->function
				 : s->module ? base_name(s->module)
					     : "");
		else
			snprintf(place, sizeof(place), "(not known)");
		print_name(place, 36);
		print_counts(r, &s->counts);
	}
	if (nr > r->top)
		printf("and %zu more\n", nr - r->top);
}

void mem_sim_blame_text(const struct mem_sim_result *r)
{
	const char *what;
	unsigned i;

	if (!r->blame || !r->top)
		return;
	print_owners(r);
	print_sites(r);
	for (i = 0; (what = blame_problem(r->blame, i)); i++)
		say("mem sim", "%s", what);
}

/* ---- CSV ------------------------------------------------------------------------- */

static void csv_text(const struct mem_sim_result *r, const char *text)
{
	text_put_csv(stdout, text ? text : "", text ? strlen(text) : 0, !r->exact_text);
	putchar(',');
}

static void csv_row(const struct mem_sim_result *r, const char *by, const char *name,
		    const char *part, const struct blame_counts *n)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t k;

	printf("%s,", by);
	csv_text(r, name);
	csv_text(r, part);
	printf("%llu,%llu", (unsigned long long)whole(n->reads),
	       (unsigned long long)whole(n->writes));
	for (k = 0; k < c->nr_levels; k++)
		printf(",%llu", (unsigned long long)whole(n->misses[k]));
	for (k = 0; k < SIM_CLASSES; k++)
		printf(",%llu", (unsigned long long)whole(n->by_class[k]));
	printf(",%llu\n", (unsigned long long)whole(n->false_sharing));
}

void mem_sim_blame_csv(const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	const struct blame_owner *owners[MEM_SIM_TOP_MAX];
	const struct blame_site *sites[MEM_SIM_TOP_MAX];
	size_t nr = blame_owners(r->blame, owners, r->top), i;
	char place[512];
	uint32_t j;

	fputs("by,name,part,reads,writes", stdout);
	for (j = 0; j < c->nr_levels; j++)
		printf(",misses_%u", j + 1);
	puts(",cold,capacity,conflict,coherence,false_sharing");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_owner *o = owners[i];
		const char *name = mem_places_owner(blame_places(r->blame), o->owner)->name;

		csv_row(r, "type", name, "", &o->counts);
		for (j = 0; o->fields && j < o->nr_fields; j++) {
			if (o->fields[j].counts.reads + o->fields[j].counts.writes)
				csv_row(r, "field", name, blame_field_name(r->blame, o, j),
					&o->fields[j].counts);
		}
	}
	nr = blame_sites(r->blame, sites, r->top);
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_site *s = sites[i];

		if (s->file)
			snprintf(place, sizeof(place), "%s:%u", s->file, s->line);
		else
			snprintf(place, sizeof(place), "0x%llx", (unsigned long long)s->pc);
		csv_row(r, "line", place, s->function, &s->counts);
	}
}

/* ---- JSON ------------------------------------------------------------------------ */

static void json_counts(struct json_writer *w, const struct mem_sim_result *r,
			const struct blame_counts *n)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t k;

	jw_field_u64(w, "reads", whole(n->reads));
	jw_field_u64(w, "writes", whole(n->writes));
	jw_key(w, "misses");
	jw_array_begin(w);
	for (k = 0; k < c->nr_levels; k++)
		jw_u64(w, whole(n->misses[k]));
	jw_array_end(w);
	if (!c->no_classes) {
		jw_field_u64(w, "cold", whole(n->by_class[SIM_COLD]));
		jw_field_u64(w, "capacity", whole(n->by_class[SIM_CAPACITY]));
		jw_field_u64(w, "conflict", whole(n->by_class[SIM_CONFLICT]));
	}
	jw_field_u64(w, "coherence", whole(n->by_class[SIM_COHERENCE]));
	jw_field_u64(w, "false_sharing", whole(n->false_sharing));
	jw_field_u64(w, "from_peer", whole(n->from_peer));
}

static void json_owners(struct json_writer *w, const struct mem_sim_result *r)
{
	const struct blame_owner *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_owners(r->blame, list, r->top), i;
	uint32_t j;

	jw_key(w, "types");
	jw_array_begin(w);
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_owner *o = list[i];
		const struct owner *known = mem_places_owner(blame_places(r->blame), o->owner);

		jw_object_begin(w);
		jw_field_string(w, "name", known->name);
		jw_field_u64(w, "size", known->size);
		json_counts(w, r, &o->counts);
		jw_key(w, "fields");
		jw_array_begin(w);
		for (j = 0; o->fields && j < o->nr_fields; j++) {
			if (!(o->fields[j].counts.reads + o->fields[j].counts.writes))
				continue;
			jw_object_begin(w);
			jw_field_string(w, "name", blame_field_name(r->blame, o, j));
			json_counts(w, r, &o->fields[j].counts);
			jw_object_end(w);
		}
		jw_array_end(w);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_sites(struct json_writer *w, const struct mem_sim_result *r)
{
	const struct blame_site *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_sites(r->blame, list, r->top), i;
	char hex[24];

	jw_key(w, "source_lines");
	jw_array_begin(w);
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_site *s = list[i];

		snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)s->pc);
		jw_object_begin(w);
		jw_field_string(w, "file", s->file);
		jw_field_u64(w, "line", s->line);
		jw_field_string(w, "function", s->function);
		jw_field_string(w, "module", s->module);
		jw_field_string(w, "pc", hex);
		json_counts(w, r, &s->counts);
		jw_object_end(w);
	}
	jw_array_end(w);
}

void mem_sim_blame_json(struct json_writer *w, const struct mem_sim_result *r)
{
	const char *what;
	unsigned i;

	if (!r->blame)
		return;
	json_owners(w, r);
	json_sites(w, r);
	jw_key(w, "problems");
	jw_array_begin(w);
	for (i = 0; (what = blame_problem(r->blame, i)); i++)
		jw_string(w, what);
	jw_array_end(w);
}

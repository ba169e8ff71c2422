/* SPDX-License-Identifier: MIT */
/* mem_sim_blame.c - misses by type and field, and by source line. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "mem.h"
#include "mem_sim.h"

#define FIELDS_SHOWN 8

uint64_t mem_sim_whole(uint64_t in_256)
{
	return in_256 / BLAME_ONE + (in_256 % BLAME_ONE >= BLAME_ONE / 2);
}

void mem_sim_print_head(struct printer *p, const struct mem_sim_result *r, const char *what)
{
	const struct sim_config *c = sim_config_of(r->sim);

	print_text(p, "\n%-36s %12s %8s misses %4s misses  coherence      false\n", what,
		   "accesses", c->level[0].name, c->level[c->nr_levels - 1].name);
}

static void blame_print_misses(struct printer *p, const struct sim_config *c,
			       const struct blame_counts *n)
{
	uint32_t k;

	if (!p->is_json) {
		print_text(p, " %15s %11s", number_text(mem_sim_whole(n->misses[0])),
			   number_text(mem_sim_whole(n->misses[c->nr_levels - 1])));
		return;
	}
	print_list(p, "misses");
	for (k = 0; k < c->nr_levels; k++)
		jw_u64(&p->json, mem_sim_whole(n->misses[k]));
	print_list_end(p);
}

void mem_sim_print_counts(struct printer *p, const struct mem_sim_result *r,
			  const struct blame_counts *n)
{
	const struct sim_config *c = sim_config_of(r->sim);

	print_text(p, " %12s", number_text(mem_sim_whole(n->reads + n->writes)));
	print_count(p, "reads", NULL, mem_sim_whole(n->reads));
	print_count(p, "writes", NULL, mem_sim_whole(n->writes));
	blame_print_misses(p, c, n);
	if (!c->no_classes) {
		print_count(p, "cold", NULL, mem_sim_whole(n->by_class[SIM_COLD]));
		print_count(p, "capacity", NULL, mem_sim_whole(n->by_class[SIM_CAPACITY]));
		print_count(p, "conflict", NULL, mem_sim_whole(n->by_class[SIM_CONFLICT]));
	}
	print_count(p, "coherence", " %10s", mem_sim_whole(n->by_class[SIM_COHERENCE]));
	print_count(p, "false_sharing", " %10s", mem_sim_whole(n->false_sharing));
	print_count(p, "from_peer", NULL, mem_sim_whole(n->from_peer));
	if (r->page_title)
		print_real(p, "cost", NULL, (double)blame_cost(r->blame, n) / BLAME_ONE);
}

/* ---- types and fields ------------------------------------------------------------------ */

static bool blame_field_is_used(const struct blame_owner *o, uint32_t i)
{
	return o->fields[i].counts.reads + o->fields[i].counts.writes;
}

static void blame_print_field(struct printer *p, const struct mem_sim_result *r,
			      const struct blame_owner *o, uint32_t i)
{
	print_row(p);
	print_text(p, "  ");
	print_name(p, "name", 34, blame_field_name(r->blame, o, i));
	if (r->page_title)
		mem_sim_page_field(p, r, o, i);
	mem_sim_print_counts(p, r, &o->fields[i].counts);
	print_row_end(p);
}

/* The field with the most misses that is not shown yet; nr_fields: none. */
static uint32_t blame_next_field(const struct blame_owner *o, const bool *shown)
{
	uint32_t i, best = o->nr_fields;

	for (i = 0; i < o->nr_fields && i < 1024; i++) {
		if (shown[i] || !blame_field_is_used(o, i))
			continue;
		if (best == o->nr_fields ||
		    o->fields[i].counts.misses[0] > o->fields[best].counts.misses[0])
			best = i;
	}
	return best;
}

/* Text: the fields with the most misses, in that order. */
static void blame_text_fields(struct printer *p, const struct mem_sim_result *r,
			      const struct blame_owner *o)
{
	bool shown[1024] = { false };
	uint32_t i, n;

	for (n = 0; o->fields && n < FIELDS_SHOWN; n++) {
		i = blame_next_field(o, shown);
		if (i == o->nr_fields)
			return;
		shown[i] = true;
		blame_print_field(p, r, o, i);
	}
	for (n = 0; o->fields && (i = blame_next_field(o, shown)) < o->nr_fields; n++)
		shown[i] = true;
	if (n)
		print_text(p, "  and %u more\n", n);
}

/* JSON: all fields, in the order of the type. */
static void blame_json_fields(struct printer *p, const struct mem_sim_result *r,
			      const struct blame_owner *o)
{
	uint32_t i;

	print_list(p, "fields");
	for (i = 0; o->fields && i < o->nr_fields; i++) {
		if (blame_field_is_used(o, i) || mem_sim_page_has_field(r, o, i))
			blame_print_field(p, r, o, i);
	}
	print_list_end(p);
}

/* "struct node, 97 %": how certain the type of its heap blocks is. */
static void blame_print_owner_name(struct printer *p, const struct mem_sim_result *r,
				   const struct blame_owner *o)
{
	const struct owner *known = mem_places_owner(blame_places(r->blame), o->owner);
	double certainty = blame_certainty(r->blame, o);
	char name[128];

	if (p->is_json) {
		print_name(p, "name", 36, known->name);
		if (certainty >= 0)
			print_real(p, "certainty", NULL, certainty);
		return;
	}
	if (certainty < 0)
		snprintf(name, sizeof(name), "%s", known->name);
	else if (strlen(known->name) > 28)
		snprintf(name, sizeof(name), "%.25s..., %.0f %%", known->name,
			 (double)(int)(certainty * 100));
	else
		snprintf(name, sizeof(name), "%s, %.0f %%", known->name,
			 (double)(int)(certainty * 100));
	print_name(p, NULL, 36, name);
}

/* Which share of the cost of the heap's misses has a name, and of what kind. */
static void blame_print_heap(struct printer *p, const struct mem_sim_result *r)
{
	static const struct {
		const char *key, *text;
	} kinds[BLAME_NAMINGS] = {
		[BLAME_ANNOTATED] = { "annotated", "annotated" },
		[BLAME_BY_VOTE] = { "by_vote", "by type (vote)" },
		[BLAME_BY_CODE] = { "by_code", "by type (instruction)" },
		[BLAME_BY_SITE] = { "by_site", "by allocation site" },
		[BLAME_UNNAMED] = { "unnamed", "unnamed" },
	};
	const char *separator = "";
	uint64_t cost[BLAME_NAMINGS], all = 0;
	int i;

	for (i = 0; i < BLAME_NAMINGS; i++) {
		cost[i] = blame_cost(r->blame, blame_heap(r->blame, (enum blame_naming)i));
		all += cost[i];
	}
	print_object(p, "heap_cost");
	if (all)
		print_text(p, "\ncost of the heap's misses: ");
	for (i = 0; i < BLAME_NAMINGS; i++) {
		print_real(p, kinds[i].key, NULL, (double)cost[i] / BLAME_ONE);
		if (all && cost[i]) {
			print_text(p, "%s%s %.1f %%", separator, kinds[i].text,
				   100.0 * (double)cost[i] / (double)all);
			separator = ", ";
		}
	}
	if (all)
		print_text(p, "\n");
	print_object_end(p);
}

static void blame_print_owners(struct printer *p, const struct mem_sim_result *r)
{
	const struct blame_owner *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_owners(r->blame, list, r->top), i;

	mem_sim_print_head(p, r, "by type and field");
	print_list(p, "types");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct owner *known = mem_places_owner(blame_places(r->blame),
							     list[i]->owner);

		print_object(p, NULL);
		blame_print_owner_name(p, r, list[i]);
		print_count(p, "size", NULL, known->size);
		mem_sim_print_counts(p, r, &list[i]->counts);
		print_text(p, "\n");
		if (p->is_json)
			blame_json_fields(p, r, list[i]);
		else
			blame_text_fields(p, r, list[i]);
		if (r->page_title)
			mem_sim_page_layout(p, r, list[i]);
		print_object_end(p);
	}
	print_list_end(p);
	if (r->page_title)
		print_count(p, "types_of", NULL, nr);
	if (nr > r->top)
		print_text(p, "and %zu more\n", nr - r->top);
	blame_print_heap(p, r);
}

/* ---- source lines ----------------------------------------------------------------------- */

static void blame_text_place(struct printer *p, const struct blame_site *s)
{
	char place[256];

	if (s->file)
		snprintf(place, sizeof(place), "%s:%u %s", path_base(s->file), s->line,
			 s->function ? s->function : "");
	else if (s->pc)
		snprintf(place, sizeof(place), "0x%llx %s", (unsigned long long)s->pc,
			 s->function ? s->function
			 : s->module ? path_base(s->module)
				     : "");
	else
		snprintf(place, sizeof(place), "(not known)");
	if (!p->is_json)
		print_name(p, NULL, 36, place);
}

static void blame_print_sites(struct printer *p, const struct mem_sim_result *r)
{
	const struct blame_site *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_sites(r->blame, list, r->top), i;

	mem_sim_print_head(p, r, "by source line");
	print_list(p, "source_lines");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_site *s = list[i];

		print_row(p);
		blame_text_place(p, s);
		print_string(p, "file", s->file);
		print_count(p, "line", NULL, s->line);
		print_string(p, "function", s->function);
		print_string(p, "module", s->module);
		print_address(p, "pc", NULL, s->pc);
		mem_sim_print_counts(p, r, &s->counts);
		if (r->page_title)
			mem_sim_page_data(p, r, s);
		print_row_end(p);
	}
	print_list_end(p);
	if (r->page_title)
		print_count(p, "source_lines_of", NULL, nr);
	if (nr > r->top)
		print_text(p, "and %zu more\n", nr - r->top);
}

void mem_sim_print_blame(struct printer *p, const struct mem_sim_result *r)
{
	const char *what;
	unsigned i;

	if (!r->blame || (!p->is_json && !r->top))
		return;
	blame_print_owners(p, r);
	blame_print_sites(p, r);
	mem_sim_print_functions(p, r);
	mem_sim_print_allocations(p, r);
	mem_sim_print_coroutines(p, r);
	print_list(p, "problems");
	for (i = 0; (what = blame_problem(r->blame, i)); i++) {
		if (p->is_json)
			jw_string(&p->json, what);
		else
			message_print("mem sim", "%s", what);
	}
	print_list_end(p);
}

/* SPDX-License-Identifier: MIT */
/*
 * mem_sim_page.c - what the page of a simulation has beyond the JSON of `mem sim`.
 *
 * docs/memory-layout.md lists the keys.
 */
#include <stdio.h>
#include <string.h>

#include "mem_html.h"
#include "mem_sim.h"

void mem_sim_page_head(struct printer *p, const struct mem_sim_result *r)
{
	size_t at = 0, size = r->facts->command ? r->facts->command_size : 0;

	if (!r->page_title)
		return;
	print_string(p, "title", r->page_title);
	print_list(p, "command");
	while (at < size) {
		size_t length = strnlen(r->facts->command + at, size - at);

		jw_string_n(&p->json, r->facts->command + at, length);
		at += length + 1;
	}
	print_list_end(p);
	print_real(p, "cost", NULL,
		   (double)blame_cost(r->blame, blame_total(r->blame)) / BLAME_ONE);
}

void mem_sim_page_code(struct printer *p, const struct mem_sim_result *r)
{
	if (!r->calls)
		return;
	mem_html_calls(p, r->calls, r->top);
	if (r->has_sources)
		mem_html_sources(p, r->calls);
}

static const struct type *page_type(const struct mem_sim_result *r, const struct blame_owner *o)
{
	return types_get(blame_types(r->blame),
			 mem_places_owner(blame_places(r->blame), o->owner)->type);
}

void mem_sim_page_layout(struct printer *p, const struct mem_sim_result *r,
			 const struct blame_owner *o)
{
	const struct type *type;

	if (!o->fields) {
		print_string(p, "layout", NULL);
		return;
	}
	type = page_type(r, o);
	print_object(p, "layout");
	print_count(p, "bytes", NULL, type->size);
	print_string(p, "file", type->file);
	print_count(p, "line", NULL, type->line);
	print_object_end(p);
}

bool mem_sim_page_has_field(const struct mem_sim_result *r, const struct blame_owner *o,
			    uint32_t field)
{
	return r->page_title && field < page_type(r, o)->nr_leaves;
}

void mem_sim_page_field(struct printer *p, const struct mem_sim_result *r,
			const struct blame_owner *o, uint32_t field)
{
	const struct type *type = page_type(r, o);

	if (field >= type->nr_leaves)
		return;
	print_string(p, "type", type->leaves[field].type_name);
	print_count(p, "offset", NULL, type->leaves[field].offset);
	print_count(p, "size", NULL, type->leaves[field].size);
}

void mem_sim_page_data(struct printer *p, const struct mem_sim_result *r,
		       const struct blame_site *s)
{
	const struct mem_places *places = blame_places(r->blame);

	print_string(p, "data",
		     s->owner == UINT32_MAX ? NULL : mem_places_owner(places, s->owner)->name);
}

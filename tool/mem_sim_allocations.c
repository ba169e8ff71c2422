/* SPDX-License-Identifier: MIT */
/* mem_sim_allocations.c - misses by allocation site of the heap, and by function. */
#include <stdio.h>

#include "base/path.h"
#include "mem.h"
#include "mem_sim.h"
#include "memory/blame/blame_allocations.h"
#include "memory/blame/blame_functions.h"

static void allocations_place(const struct blame_allocation *a, char *buf, size_t size)
{
	if (a->file)
		snprintf(buf, size, "%.100s:%u %.200s", path_base(a->file), a->line,
			 a->function ? a->function : "");
	else if (a->function)
		snprintf(buf, size, "%.200s", a->function);
	else
		snprintf(buf, size, "0x%llx", (unsigned long long)a->pc);
}

static void allocations_print_row(struct printer *p, const struct mem_sim_result *r,
				  const struct blame_allocation *a)
{
	char place[400];

	allocations_place(a, place, sizeof(place));
	print_row(p);
	if (!p->is_json)
		print_name(p, NULL, 36, place);
	print_string(p, "file", a->file);
	print_count(p, "line", NULL, a->line);
	print_string(p, "function", a->function);
	print_string(p, "module", a->module);
	print_address(p, "pc", NULL, a->pc);
	print_string(p, "callers", a->callers);
	print_count(p, "blocks", NULL, a->blocks);
	print_count(p, "bytes", NULL, a->bytes);
	mem_sim_print_counts(p, r, &a->counts);
	if (!p->is_json) {
		print_text(p, "\n  %s block%s, %s", number_text(a->blocks),
			   number_plural(a->blocks), number_bytes(a->bytes));
		if (*a->callers)
			print_text(p, "; called by ");
		print_safe(p, a->callers, 0);
	}
	print_row_end(p);
}

void mem_sim_print_allocations(struct printer *p, const struct mem_sim_result *r)
{
	const struct blame_allocation *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_allocations(r->blame, list, r->top), i;

	if (nr)
		mem_sim_print_head(p, r, "by allocation site");
	print_list(p, "allocation_sites");
	for (i = 0; i < nr && i < r->top; i++)
		allocations_print_row(p, r, list[i]);
	print_list_end(p);
	if (r->page_title)
		print_count(p, "allocation_sites_of", NULL, nr);
	if (nr > r->top)
		print_text(p, "and %zu more\n", nr - r->top);
}

void mem_sim_print_functions(struct printer *p, const struct mem_sim_result *r)
{
	const struct blame_function *list[MEM_SIM_TOP_MAX];
	size_t nr = blame_functions(r->blame, list, r->top), i;

	if (r->page_title) /* the page has a table with callers */
		return;
	mem_sim_print_head(p, r, "by function");
	print_list(p, "functions");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_function *f = list[i];

		print_row(p);
		if (!p->is_json)
			print_name(p, NULL, 36,
				   f->function ? f->function
				   : f->module ? path_base(f->module)
					       : "(not known)");
		print_string(p, "function", f->function);
		print_string(p, "file", f->file);
		print_string(p, "module", f->module);
		mem_sim_print_counts(p, r, &f->counts);
		print_row_end(p);
	}
	print_list_end(p);
	if (nr > r->top)
		print_text(p, "and %zu more\n", nr - r->top);
}

void mem_sim_csv_allocations(const struct mem_sim_result *r)
{
	const struct blame_allocation *sites[MEM_SIM_TOP_MAX];
	const struct blame_function *functions[MEM_SIM_TOP_MAX];
	size_t nr = blame_allocations(r->blame, sites, r->top), i;
	char place[400], more[32];

	for (i = 0; i < nr && i < r->top; i++) {
		allocations_place(sites[i], place, sizeof(place));
		snprintf(more, sizeof(more), ",%llu", (unsigned long long)sites[i]->bytes);
		mem_sim_csv_row(r, "allocation", place, sites[i]->callers, &sites[i]->counts, more);
	}
	nr = blame_functions(r->blame, functions, r->top);
	for (i = 0; i < nr && i < r->top; i++)
		mem_sim_csv_row(r, "function", functions[i]->function,
				functions[i]->module ? path_base(functions[i]->module) : NULL,
				&functions[i]->counts, ",");
}

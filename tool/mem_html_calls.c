/* SPDX-License-Identifier: MIT */
/*
 * mem_html_calls.c - functions and the flame graph of the page of `mem html`.
 *
 * docs/memory-calls.md lists the keys.
 */
#include <stdlib.h>

#include "base/memory_shortage.h"
#include "mem_html.h"
#include "memory/calls/call_flame.h"

#define FLAME_SHARE 2000u /* a frame with less than this part of the cost is left out */
#define FLAME_MAX   4000u

/* ---- functions --------------------------------------------------------------------- */

static void html_counts(struct printer *p, const struct call_profile *c,
			const struct call_counts *n)
{
	uint32_t i;

	print_count(p, "reads", NULL, n->n[CALL_READS]);
	print_count(p, "writes", NULL, n->n[CALL_WRITES]);
	print_list(p, "misses");
	for (i = 0; i < c->nr_levels; i++)
		jw_u64(&p->json, call_counts_misses(n, i));
	print_list_end(p);
	print_count(p, "cost", NULL, call_profile_cost(c, n));
}

static void html_function(struct printer *p, const struct call_profile *c,
			  const struct call_function *f)
{
	print_row(p);
	print_string(p, "name", f->name);
	print_string(p, "file", f->file);
	print_count(p, "line", NULL, f->line);
	print_string(p, "module", f->module);
	print_known(p, "calls", NULL, f->calls != 0, f->calls, NULL);
	html_counts(p, c, &f->self);
	if (c->has_stacks) {
		print_object(p, "inclusive");
		html_counts(p, c, &f->whole);
		print_object_end(p);
	} else {
		print_string(p, "inclusive", NULL);
	}
	print_row_end(p);
}

/* The most expensive functions by one cost and by the other. */
static void html_functions(struct printer *p, const struct call_profile *c, unsigned top)
{
	uint32_t nr[2] = { 0 }, *lists[2], k, i;
	bool *is_shown = calloc(c->nr_functions, sizeof(*is_shown));

	if (!is_shown)
		memory_shortage_note();
	for (k = 0; k < 2; k++)
		lists[k] = call_profile_sorted(c, k, &nr[k]);
	print_list(p, "functions");
	for (k = 0; is_shown && k < (c->has_stacks ? 2 : 1); k++) {
		for (i = 0; lists[k] && i < nr[k] && i < top; i++) {
			if (!is_shown[lists[k][i]])
				html_function(p, c, &c->functions[lists[k][i]]);
			is_shown[lists[k][i]] = true;
		}
	}
	print_list_end(p);
	print_count(p, "functions_of", NULL, nr[c->has_stacks]);
	for (k = 0; k < 2; k++)
		free(lists[k]);
	free(is_shown);
}

/* ---- flame graph --------------------------------------------------------------------- */

/* The numbers of the frames that are shown; a frame without one is left out with its callees. */
static uint32_t html_choose(const struct call_flame *f, uint32_t *numbers)
{
	uint64_t least = call_flame_measure(f, &f->frames[0].whole, CALL_MEASURE_COST) /
			 FLAME_SHARE;
	uint32_t nr = 0, i;

	for (i = 0; i < f->nr; i++) {
		const struct profile_frame *frame = &f->frames[i];
		uint64_t cost = call_flame_measure(f, &frame->whole, CALL_MEASURE_COST);

		numbers[i] = UINT32_MAX;
		if (i && (numbers[frame->parent] == UINT32_MAX || cost <= least || nr == FLAME_MAX))
			continue;
		numbers[i] = nr++;
	}
	return nr;
}

static void html_frame(struct printer *p, const struct call_flame *f, uint32_t parent, uint32_t i)
{
	const struct profile_frame *frame = &f->frames[i];
	uint32_t last = f->profile->nr_levels - 1;

	print_row(p);
	print_string(p, "name", f->profile->functions[frame->function].name);
	print_string(p, "file", f->profile->functions[frame->function].file);
	print_count(p, "parent", NULL, parent);
	print_known(p, "calls", NULL, frame->calls != 0, frame->calls, NULL);
	print_count(p, "cost", NULL, call_flame_measure(f, &frame->whole, CALL_MEASURE_COST));
	print_count(p, "own", NULL, call_flame_measure(f, &frame->self, CALL_MEASURE_COST));
	print_count(p, "accesses", NULL,
		    call_flame_measure(f, &frame->whole, CALL_MEASURE_ACCESSES));
	print_count(p, "misses", NULL, call_counts_misses(&frame->whole, last));
	print_row_end(p);
}

static void html_flame(struct printer *p, const struct call_profile *c)
{
	struct call_flame flame;
	uint32_t *numbers = NULL, shown = 0, i;

	if (c->has_stacks && call_flame_make(&flame, c) == 0)
		numbers = calloc(flame.nr, sizeof(*numbers));
	print_list(p, "flame");
	if (numbers)
		shown = html_choose(&flame, numbers);
	for (i = 0; numbers && i < flame.nr; i++) {
		if (numbers[i] != UINT32_MAX)
			html_frame(p, &flame, numbers[flame.frames[i].parent], i);
	}
	print_list_end(p);
	print_count(p, "flame_hidden", NULL, numbers ? flame.nr - shown : 0);
	if (c->has_stacks)
		call_flame_release(&flame);
	free(numbers);
}

void mem_html_calls(struct printer *p, const struct call_profile *c, unsigned top)
{
	print_flag(p, "has_stacks", NULL, c->has_stacks);
	html_functions(p, c, top);
	html_flame(p, c);
}

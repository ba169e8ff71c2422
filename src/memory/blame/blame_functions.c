/* SPDX-License-Identifier: MIT */
/* blame_functions.c - misses by function: the sums of its source lines. */
#include "memory/blame/blame_functions.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/memory_shortage.h"
#include "memory/blame/blame_state.h"

static int functions_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_function *a = *(struct blame_function *const *)x;
	const struct blame_function *c = *(struct blame_function *const *)y;
	int order = blame_by_cost(b, &a->counts, &c->counts);

	return order ? order : (a > c) - (a < c);
}

/* Add a source line to its function; code without a function is one row per module. */
static void functions_add(struct blame *b, struct u64map *known, struct strtab *keys,
			  const struct blame_site *line)
{
	uint64_t *at = NULL;
	char key[1200];
	int64_t text;

	snprintf(key, sizeof(key), "%.500s\n%.500s", line->function ? line->function : "",
		 line->module ? line->module : "");
	text = strtab_intern(keys, key);
	if (text >= 0)
		at = u64map_at(known, (uint64_t)text);
	if (at && *at) {
		blame_add_counts(&b->functions[*at - 1].counts, &line->counts);
		return;
	}
	b->functions[b->nr_functions++] = (struct blame_function){
		line->function, line->function ? line->file : NULL, line->module, line->counts
	};
	if (at)
		*at = b->nr_functions;
}

static void functions_make(struct blame *b)
{
	struct u64map known = { 0 };
	struct strtab keys = { 0 };
	size_t i;

	blame_sites(b, NULL, 0); /* makes the lines */
	b->functions = calloc(b->nr_lines + 1, sizeof(*b->functions));
	b->sorted_functions = calloc(b->nr_lines + 1, sizeof(struct blame_function *));
	if (!b->functions || !b->sorted_functions) {
		memory_shortage_note();
		return;
	}
	for (i = 0; i < b->nr_lines; i++)
		functions_add(b, &known, &keys, b->sorted_lines[i]);
	for (i = 0; i < b->nr_functions; i++)
		b->sorted_functions[i] = &b->functions[i];
	qsort_r(b->sorted_functions, b->nr_functions, sizeof(struct blame_function *),
		functions_by_cost, b);
	u64map_release(&known);
	strtab_release(&keys);
}

size_t blame_functions(struct blame *b, const struct blame_function **out, size_t nr)
{
	size_t i;

	blame_memos_settle(b);
	if (!b->functions)
		functions_make(b);
	for (i = 0; i < b->nr_functions && i < nr; i++)
		out[i] = b->sorted_functions[i];
	return b->nr_functions;
}

void blame_functions_release(struct blame *b)
{
	free(b->functions);
	free(b->sorted_functions);
}

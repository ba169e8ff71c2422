/* SPDX-License-Identifier: MIT */
/* mem_sim_coroutines.c - misses and allocations by kind of coroutine and await site. */
#include <stdio.h>

#include "base/path.h"
#include "base/text.h"
#include "mem.h"
#include "mem_sim.h"
#include "memory/blame/blame_coroutines.h"

#define OUTSIDE_NAME "(outside of all coroutines)"

/* NULL: none, or a message was printed. */
static const struct blame_coroutine *coroutines_of(const struct mem_sim_result *r, size_t *nr)
{
	const struct blame_coroutine *kinds = blame_coroutines(r->blame, nr);

	if (!kinds)
		message_print("mem sim", "no memory for the coroutines");
	return *nr ? kinds : NULL;
}

/* "dir/file.c:12 function" as `report` writes it; text tables omit the directories. */
static void coroutines_place(const struct blame_await *a, bool is_short, char *buf, size_t size)
{
	if (*a->file)
		snprintf(buf, size, "%s:%u %s", is_short ? path_base(a->file) : a->file, a->line,
			 a->function);
	else
		snprintf(buf, size, "%s", "(no await before)");
}

/* ---- text ------------------------------------------------------------------------ */

static void coroutines_text_counts(struct printer *p, const struct mem_sim_result *r,
				   const struct blame_await *a)
{
	const struct sim_config *c = sim_config_of(r->sim);
	const struct blame_counts *n = &a->counts;

	print_text(p, " %10s", number_text(a->slices));
	print_text(p, " %12s", number_text(mem_sim_whole(n->reads + n->writes)));
	print_text(p, " %11s", number_text(mem_sim_whole(n->misses[0])));
	print_text(p, " %11s", number_text(mem_sim_whole(n->misses[c->nr_levels - 1])));
	print_text(p, " %8s", number_text(mem_sim_whole(n->false_sharing)));
	print_text(p, " %11s\n", number_text(a->allocated));
}

static void coroutines_text_kind(struct printer *p, const struct mem_sim_result *r,
				 const struct blame_coroutine *k)
{
	char place[512];
	size_t i;

	print_name(p, NULL, 36, k->kind ? k->kind : OUTSIDE_NAME);
	coroutines_text_counts(p, r, &k->all);
	for (i = 0; i < k->nr_awaits && i < r->top; i++) {
		coroutines_place(&k->awaits[i], true, place, sizeof(place));
		print_text(p, "  ");
		print_name(p, NULL, 34, place);
		coroutines_text_counts(p, r, &k->awaits[i]);
	}
	if (k->nr_awaits > r->top)
		print_text(p, "  and %zu more\n", k->nr_awaits - r->top);
}

static void coroutines_text(struct printer *p, const struct mem_sim_result *r,
			    const struct blame_coroutine *kinds, size_t nr)
{
	const struct sim_config *c = sim_config_of(r->sim);
	char first[SIM_NAME_MAX + 8], last[SIM_NAME_MAX + 8];
	size_t i;

	snprintf(first, sizeof(first), "%s misses", c->level[0].name);
	snprintf(last, sizeof(last), "%s misses", c->level[c->nr_levels - 1].name);
	print_text(p, "\n%-36s %10s %12s %11s %11s %8s %11s\n", "by coroutine, after which await",
		   "slices", "accesses", first, last, "false", "allocated");
	for (i = 0; i < nr && i < r->top; i++)
		coroutines_text_kind(p, r, &kinds[i]);
	if (nr > r->top)
		print_text(p, "and %zu more\n", nr - r->top);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void coroutines_json_counts(struct printer *p, const struct mem_sim_result *r,
				   const struct blame_await *a)
{
	print_count(p, "slices", NULL, a->slices);
	mem_sim_print_counts(p, r, &a->counts);
	print_count(p, "allocations", NULL, a->allocations);
	print_count(p, "allocated_bytes", NULL, a->allocated);
}

static void coroutines_json_kind(struct printer *p, const struct mem_sim_result *r,
				 const struct blame_coroutine *k)
{
	size_t i;

	print_object(p, NULL);
	print_string(p, "kind", k->kind);
	coroutines_json_counts(p, r, &k->all);
	print_list(p, "awaits");
	for (i = 0; i < k->nr_awaits && i < r->top; i++) {
		const struct blame_await *a = &k->awaits[i];

		print_object(p, NULL);
		print_string(p, "file", *a->file ? a->file : NULL);
		print_count(p, "line", NULL, a->line);
		print_string(p, "function", *a->function ? a->function : NULL);
		coroutines_json_counts(p, r, a);
		print_object_end(p);
	}
	print_list_end(p);
	if (r->page_title)
		print_count(p, "awaits_of", NULL, k->nr_awaits);
	print_object_end(p);
}

void mem_sim_print_coroutines(struct printer *p, const struct mem_sim_result *r)
{
	const struct blame_coroutine *kinds;
	size_t nr, i;

	kinds = coroutines_of(r, &nr);
	if (kinds && !p->is_json)
		coroutines_text(p, r, kinds, nr);
	print_list(p, "coroutines");
	for (i = 0; kinds && p->is_json && i < nr && i < r->top; i++)
		coroutines_json_kind(p, r, &kinds[i]);
	print_list_end(p);
	if (r->page_title)
		print_count(p, "coroutines_of", NULL, nr);
}

/* ---- CSV ------------------------------------------------------------------------- */

static void coroutines_csv_row(const struct mem_sim_result *r, const char *by, const char *kind,
			       const char *place, const struct blame_await *a)
{
	char more[48];

	snprintf(more, sizeof(more), "%llu,%llu", (unsigned long long)a->slices,
		 (unsigned long long)a->allocated);
	mem_sim_csv_row(r, by, kind ? kind : OUTSIDE_NAME, place, &a->counts, more);
}

void mem_sim_csv_coroutines(const struct mem_sim_result *r)
{
	const struct blame_coroutine *kinds;
	char place[1024];
	size_t nr, i, j;

	kinds = coroutines_of(r, &nr);
	for (i = 0; kinds && i < nr && i < r->top; i++) {
		const struct blame_coroutine *k = &kinds[i];

		coroutines_csv_row(r, "coroutine", k->kind, "", &k->all);
		for (j = 0; j < k->nr_awaits && j < r->top; j++) {
			coroutines_place(&k->awaits[j], false, place, sizeof(place));
			coroutines_csv_row(r, "await", k->kind, place, &k->awaits[j]);
		}
	}
}

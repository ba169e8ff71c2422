/* SPDX-License-Identifier: MIT */
/* mem_sim_csv.c - the result of a simulation as comma-separated values. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mem_sim.h"

/* ---- levels ------------------------------------------------------------------------ */

static void csv_level_row(const char *thread, const char *level, const struct sim_counts *n)
{
	unsigned c;

	/* Level names come from the user: double the quotes. */
	printf("%s,\"", thread);
	for (; *level; level++)
		fputs(*level == '"' ? "\"\"" : (char[]){ *level, '\0' }, stdout);
	printf("\",%llu,%llu,%llu,%llu", (unsigned long long)n->hits[0] + n->misses[0],
	       (unsigned long long)n->misses[0], (unsigned long long)n->hits[1] + n->misses[1],
	       (unsigned long long)n->misses[1]);
	for (c = 0; c < SIM_CLASSES; c++)
		printf(",%llu", (unsigned long long)n->by_class[c][0] + n->by_class[c][1]);
	putchar('\n');
}

void mem_sim_csv(const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	struct sim_counts n;
	struct sim_thread t;
	char id[24];
	uint32_t i, k;

	puts("thread,level,reads,read_misses,writes,write_misses,cold,capacity,conflict,coherence");
	for (k = 0; k < c->nr_levels; k++) {
		sim_level_totals(r->sim, k, &n);
		csv_level_row("all", c->level[k].name, &n);
	}
	for (i = 0; i < sim_nr_threads(r->sim); i++) {
		sim_thread(r->sim, i, &t);
		if (t.thread == SIM_NOBODY)
			snprintf(id, sizeof(id), "others");
		else
			snprintf(id, sizeof(id), "%llu",
				 (unsigned long long)mem_facts_id(r->facts, t.thread));
		for (k = 0; k < c->nr_levels; k++) {
			sim_level_thread(r->sim, i, k, &n);
			csv_level_row(id, c->level[k].name, &n);
		}
	}
}

/* ---- types, fields and source lines --------------------------------------------------- */

static void csv_text(const struct mem_sim_result *r, const char *text)
{
	text_put_csv(stdout, text ? text : "", text ? strlen(text) : 0, !r->exact_text);
	putchar(',');
}

void mem_sim_csv_row(const struct mem_sim_result *r, const char *by, const char *name,
		     const char *part, const struct blame_counts *n, const char *more)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t k;

	printf("%s,", by);
	csv_text(r, name);
	csv_text(r, part);
	printf("%llu,%llu", (unsigned long long)mem_sim_whole(n->reads),
	       (unsigned long long)mem_sim_whole(n->writes));
	for (k = 0; k < c->nr_levels; k++)
		printf(",%llu", (unsigned long long)mem_sim_whole(n->misses[k]));
	for (k = 0; k < SIM_CLASSES; k++)
		printf(",%llu", (unsigned long long)mem_sim_whole(n->by_class[k]));
	printf(",%llu,%s\n", (unsigned long long)mem_sim_whole(n->false_sharing), more);
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
	puts(",cold,capacity,conflict,coherence,false_sharing,slices,allocated_bytes");
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_owner *o = owners[i];
		const char *name = mem_places_owner(blame_places(r->blame), o->owner)->name;

		mem_sim_csv_row(r, "type", name, "", &o->counts, ",");
		for (j = 0; o->fields && j < o->nr_fields; j++) {
			if (o->fields[j].counts.reads + o->fields[j].counts.writes)
				mem_sim_csv_row(r, "field", name, blame_field_name(r->blame, o, j),
						&o->fields[j].counts, ",");
		}
	}
	nr = blame_sites(r->blame, sites, r->top);
	for (i = 0; i < nr && i < r->top; i++) {
		const struct blame_site *s = sites[i];

		if (s->file)
			snprintf(place, sizeof(place), "%s:%u", s->file, s->line);
		else
			snprintf(place, sizeof(place), "0x%llx", (unsigned long long)s->pc);
		mem_sim_csv_row(r, "line", place, s->function, &s->counts, ",");
	}
	mem_sim_csv_allocations(r);
	mem_sim_csv_coroutines(r);
}

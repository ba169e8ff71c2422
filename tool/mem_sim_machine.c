/* SPDX-License-Identifier: MIT */
/* mem_sim_machine.c - the simulated machine, as text or in the JSON format of --config. */
#include <stdio.h>

#include "mem.h"
#include "mem_sim.h"

/* ---- text ------------------------------------------------------------------------- */

static void machine_print_level(struct printer *p, const struct sim_level_config *l)
{
	print_text(p, "  %-5s %s, ", l->name, number_bytes(l->size));
	if (l->ways)
		print_text(p, "%u way%s, ", l->ways, number_plural(l->ways));
	else
		print_text(p, "fully associative, ");
	print_text(p, "lines of %u, %s, write-%s", l->line, sim_policy_name(l->policy),
		   l->write_through ? "through" : "back");
	if (l->no_allocate)
		print_text(p, ", no allocation by writes");
	if (l->inclusion != SIM_NON_INCLUSIVE)
		print_text(p, ", %s", sim_inclusion_name(l->inclusion));
	if (l->prefetch != SIM_PREFETCH_NONE)
		print_text(p, ", prefetch %s", sim_prefetch_name(l->prefetch));
	if (l->share == 0)
		print_text(p, ", shared by all");
	else if (l->share > 1)
		print_text(p, ", shared by %u cores", l->share);
	print_text(p, "\n");
}

void mem_sim_print_machine(struct printer *p, const struct sim_config *c, const char *source)
{
	uint32_t k;

	print_text(p, "caches of ");
	print_safe(p, source, 0);
	print_text(p, "\n");
	for (k = 0; k < c->nr_levels; k++)
		machine_print_level(p, &c->level[k]);
	for (k = 0; k < c->nr_tlbs; k++) {
		print_text(p, "  %-5s %u entries, ", c->tlb[k].name, c->tlb[k].entries);
		if (c->tlb[k].ways)
			print_text(p, "%u ways", c->tlb[k].ways);
		else
			print_text(p, "fully associative");
		print_text(p, ", pages of %s\n", number_bytes(c->page));
	}
}

/* ---- JSON ------------------------------------------------------------------------- */

/* Write @word for 0. */
static void json_number_or(struct json_writer *w, const char *key, uint64_t value, const char *word)
{
	if (value)
		jw_field_u64(w, key, value);
	else
		jw_field_string(w, key, word);
}

static void json_level_config(struct json_writer *w, const struct sim_level_config *l)
{
	jw_object_begin(w);
	jw_field_string(w, "name", l->name);
	jw_field_u64(w, "size", l->size);
	jw_field_u64(w, "line", l->line);
	json_number_or(w, "ways", l->ways, "full");
	jw_field_string(w, "policy", sim_policy_name(l->policy));
	jw_field_string(w, "write", l->write_through ? "through" : "back");
	jw_field_bool(w, "allocate", !l->no_allocate);
	jw_field_string(w, "inclusion", sim_inclusion_name(l->inclusion));
	jw_field_string(w, "prefetch", sim_prefetch_name(l->prefetch));
	json_number_or(w, "share", l->share, "all");
	jw_object_end(w);
}

void mem_sim_json_machine(struct json_writer *w, const struct sim_config *c)
{
	uint32_t k;

	jw_object_begin(w);
	jw_key(w, "levels");
	jw_array_begin(w);
	for (k = 0; k < c->nr_levels; k++)
		json_level_config(w, &c->level[k]);
	jw_array_end(w);
	jw_key(w, "tlb");
	jw_array_begin(w);
	for (k = 0; k < c->nr_tlbs; k++) {
		jw_object_begin(w);
		jw_field_string(w, "name", c->tlb[k].name);
		jw_field_u64(w, "entries", c->tlb[k].entries);
		json_number_or(w, "ways", c->tlb[k].ways, "full");
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_field_u64(w, "page", c->page);
	jw_field_u64(w, "cores", c->cores);
	jw_field_u64(w, "seed", c->seed);
	jw_object_end(w);
}

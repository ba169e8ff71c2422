/* SPDX-License-Identifier: MIT */
/* mem_sim_sharing.c - cache lines that cores take from each other. */
#include <stdio.h>

#include "mem.h"
#include "mem_sim.h"

#define SHARERS_SHOWN 4
#define FIELDS_SHOWN  8

static uint32_t sharing_shown(const struct printer *p, uint32_t nr, uint32_t most)
{
	return p->is_json || nr < most ? nr : most;
}

/* The bytes of a line that a mask stands for: " 0-7 16" in text. */
static void sharing_print_bytes(struct printer *p, const char *key, uint64_t mask, uint32_t line)
{
	uint32_t grain = line > 64 ? line / 64 : 1, i = 0;

	print_list(p, key);
	while (i < 64 && mask >> i) {
		uint32_t from = i + (uint32_t)__builtin_ctzll(mask >> i), to = from;

		while (to < 64 && mask >> to & 1)
			to++;
		i = to;
		if (p->is_json) {
			jw_array_begin(&p->json);
			jw_u64(&p->json, (uint64_t)from * grain);
			jw_u64(&p->json, (uint64_t)to * grain - 1);
			jw_array_end(&p->json);
			continue;
		}
		print_text(p, " %u", from * grain);
		if (to * grain - 1 > from * grain)
			print_text(p, "-%u", to * grain - 1);
	}
	print_list_end(p);
}

static void sharing_print_sharer(struct printer *p, const struct mem_sim_result *r,
				 const struct sim_sharer *s)
{
	uint32_t line = sim_config_of(r->sim)->level[0].line;

	print_row(p);
	mem_sim_print_thread_id(p, "id", "    thread %s", r->facts, s->thread);
	if (p->is_json || s->reads) {
		print_count(p, "reads", " reads %s times, bytes", s->reads);
		if (!p->is_json)
			sharing_print_bytes(p, NULL, s->read_mask, line);
	}
	if (p->is_json || s->writes) {
		print_text(p, "%s", s->reads ? ";" : "");
		print_count(p, "writes", " writes %s times, bytes", s->writes);
		if (p->is_json)
			sharing_print_bytes(p, "bytes_read", s->read_mask, line);
		sharing_print_bytes(p, "bytes_written", s->write_mask, line);
	}
	print_row_end(p);
}

static void sharing_print_thefts(struct printer *p, const struct mem_sim_result *r,
				 const struct sim_shared_line *l)
{
	uint32_t nr = sharing_shown(p, l->nr_thefts, SHARERS_SHOWN), i;

	print_list(p, "taken");
	for (i = 0; i < nr; i++) {
		print_row(p);
		mem_sim_print_thread_id(p, "by", "    thread %s", r->facts, l->thefts[i].by);
		mem_sim_print_thread_id(p, "from", " takes it from %s", r->facts,
					l->thefts[i].from);
		print_count(p, "invalidations", " %s times", l->thefts[i].invalidations);
		print_count(p, "false_misses", ", %s of them missed for nothing",
			    l->thefts[i].false_misses);
		print_count(p, "true_misses", NULL, l->thefts[i].true_misses);
		print_row_end(p);
	}
	print_list_end(p);
	print_count(p, "taken_by_others", NULL, l->other_thefts);
}

static void sharing_print_sharers(struct printer *p, const struct mem_sim_result *r,
				  const struct sim_shared_line *l)
{
	uint32_t nr = sharing_shown(p, l->nr_sharers, SHARERS_SHOWN), i;

	print_list(p, "threads");
	for (i = 0; i < nr; i++)
		sharing_print_sharer(p, r, &l->sharers[i]);
	print_list_end(p);
	print_count(p, "accesses_of_others", NULL, l->other_sharers);
	if (nr < l->nr_sharers)
		print_text(p, "    and %u more threads\n", l->nr_sharers - nr);
}

static void sharing_print_fields(struct printer *p, const struct mem_sim_result *r,
				 uint64_t address)
{
	const struct blame_shared *b = r->blame ? blame_shared_at(r->blame, address) : NULL;
	uint32_t nr = b ? sharing_shown(p, b->nr_fields, FIELDS_SHOWN) : 0, i;

	if (!b)
		return;
	print_list(p, "fields");
	for (i = 0; i < nr; i++) {
		print_row(p);
		print_text(p, "    %s ", b->fields[i].writes ? "written:" : "read:   ");
		print_string(p, "name", b->fields[i].text);
		print_safe(p, b->fields[i].text, 0);
		mem_sim_print_thread_id(p, "thread", ", by thread %s", r->facts,
					b->fields[i].thread);
		print_count(p, "offset", NULL, b->fields[i].offset);
		print_count(p, "reads_that_missed", NULL, b->fields[i].reads);
		print_count(p, "writes_that_missed", NULL, b->fields[i].writes);
		print_row_end(p);
	}
	print_list_end(p);
}

static void sharing_print_line(struct printer *p, const struct mem_sim_result *r,
			       const struct sim_shared_line *l)
{
	print_row(p);
	print_text(p, "  0x%012llx", (unsigned long long)l->address);
	print_address(p, "address", NULL, l->address);
	print_count(p, "invalidations", "  %s invalidations", l->invalidations);
	print_count(p, "false_misses", ", %s misses by false sharing", l->false_misses);
	print_count(p, "true_misses", ", %s by true\n", l->true_misses);
	if (!p->is_json)
		sharing_print_fields(p, r, l->address);
	sharing_print_sharers(p, r, l);
	sharing_print_thefts(p, r, l);
	if (p->is_json)
		sharing_print_fields(p, r, l->address);
	print_object_end(p);
}

void mem_sim_print_sharing(struct printer *p, const struct mem_sim_result *r)
{
	const struct sim_shared_line *lines[MEM_SIM_TOP_MAX];
	size_t nr = sim_shared_lines(r->sim, lines, r->top), i;

	if (nr)
		print_text(p, "\nlines that cores take from each other, the worst first\n");
	print_list(p, "shared_lines");
	for (i = 0; i < nr; i++)
		sharing_print_line(p, r, lines[i]);
	print_list_end(p);
}

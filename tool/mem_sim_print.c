/* SPDX-License-Identifier: MIT */
/* mem_sim_print.c - the result of a simulation, as text or as one JSON object. */
#include <stdio.h>
#include <string.h>

#include "mem.h"
#include "mem_sim.h"

/* ---- the trace -------------------------------------------------------------------- */

/* Of the trace's options: whole cache lines were sampled, not bursts. */
static bool sim_has_sampled_lines(const struct mem_facts *facts)
{
	return facts && facts->options && strstr(facts->options, "sample=lines/");
}

static void sim_print_missing(struct printer *p, const struct replay *y,
			      const struct mem_facts *facts)
{
	if (y->aside)
		print_text(p, "  %s accesses were not asked for, and not simulated\n",
			   number_text(y->aside));
	if (y->lost || y->lost_unknown)
		print_text(p, "  %s%s accesses are missing in the trace: lost\n",
			   y->lost_unknown ? "more than " : "", number_text(y->lost));
	if (y->left_out)
		print_text(p, "  %s accesses are missing in the trace: left out on purpose\n",
			   number_text(y->left_out));
	if (y->sampled && sim_has_sampled_lines(facts))
		print_text(p, "  the trace is a sample of cache lines, and each access counts as "
			      "those it stands\n"
			      "  for: misses are right to about 1 %%, hits of a few hot lines may "
			      "be far off\n");
	else if (y->sampled)
		print_text(p, "  the trace is a sample, and each access counts as those it stands "
			      "for; after a\n"
			      "  gap caches hold what is old, so that misses are over-estimated\n");
}

static void sim_print_trace(struct printer *p, const struct mem_sim_result *r,
			    const struct sim_totals *t)
{
	uint64_t all = t->accesses[0] + t->accesses[1];
	uint32_t threads = sim_nr_threads(r->sim);

	if (p->is_json) {
		print_string(p, "file", r->path);
		print_string(p, "machine_from", r->machine);
		jw_key(&p->json, "machine");
		mem_sim_json_machine(&p->json, sim_config_of(r->sim));
	}
	print_count(p, "simulated", NULL, r->replay->accesses);
	print_count(p, "left_aside", NULL, r->replay->aside);
	print_count(p, "lost", NULL, r->replay->lost);
	print_flag(p, "lost_unknown", NULL, r->replay->lost_unknown);
	print_count(p, "left_out", NULL, r->replay->left_out);
	print_flag(p, "sampled", NULL, r->replay->sampled);
	print_safe(p, r->path, 0);
	print_count(p, "accesses", ": %s accesses, ", all);
	print_text(p, "%.1f %% of them writes, %u thread%s", number_percent(t->accesses[1], all),
		   threads, number_plural(threads));
	print_count(p, "reads", NULL, t->accesses[SIM_READS]);
	print_count(p, "writes", NULL, t->accesses[SIM_WRITES]);
	print_count(p, "bytes", NULL, t->bytes);
	print_count(p, "straddles", NULL, t->straddles);
	print_count(p, "empty", NULL, t->empty);
	print_number(p, "cores", " on %s core", t->cores);
	print_text(p, "%s\n", number_plural(t->cores));
	sim_print_missing(p, r->replay, r->facts);
	if (t->straddles)
		print_text(p,
			   "  %s accesses touch more than one line, each of which counts below\n",
			   number_text(t->straddles));
}

/* ---- levels ----------------------------------------------------------------------- */

static void sim_text_levels(struct printer *p, const struct sim *s)
{
	const struct sim_config *c = sim_config_of(s);
	uint32_t k;

	print_text(p, "\n               reads        misses        writes        misses     "
		      "missed\n");
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_counts n;
		uint64_t reads, writes, misses;

		sim_level_totals(s, k, &n);
		reads = n.hits[0] + n.misses[0];
		writes = n.hits[1] + n.misses[1];
		misses = n.misses[0] + n.misses[1];
		print_text(p, "%-5s %14s %13s %13s %13s %8.2f %%\n", c->level[k].name,
			   number_text(reads), number_text(n.misses[0]), number_text(writes),
			   number_text(n.misses[1]), number_percent(misses, reads + writes));
	}
	for (k = 0; k < c->nr_tlbs; k++) {
		struct sim_tlb_counts n;

		sim_tlb_totals(s, k, &n);
		print_text(p, "%-5s %14s %13s %27s %8.2f %%\n", c->tlb[k].name,
			   number_text(n.hits + n.misses), number_text(n.misses), "",
			   number_percent(n.misses, n.hits + n.misses));
	}
}

static void sim_text_classes(struct printer *p, const struct sim *s)
{
	const struct sim_config *c = sim_config_of(s);
	uint32_t k, i;

	print_text(p, "\nmisses          cold      capacity      conflict     coherence   "
		      "write-backs\n");
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_counts n;
		struct sim_traffic t;

		sim_level_totals(s, k, &n);
		sim_level_traffic(s, k, &t);
		print_text(p, "%-5s", c->level[k].name);
		for (i = 0; i < SIM_CLASSES; i++)
			print_text(p, " %*s", i ? 13 : 14,
				   c->no_classes && i != SIM_COHERENCE
					   ? "-"
					   : number_text(n.by_class[i][0] + n.by_class[i][1]));
		print_text(p, " %13s\n", number_text(t.write_backs));
	}
}

static void sim_json_counts(struct printer *p, const struct sim_counts *n, bool classes)
{
	static const char *const names[] = { "cold", "capacity", "conflict", "coherence" };
	unsigned c;

	print_count(p, "hits", NULL, n->hits[0] + n->hits[1]);
	print_count(p, "misses", NULL, n->misses[0] + n->misses[1]);
	print_count(p, "read_hits", NULL, n->hits[SIM_READS]);
	print_count(p, "read_misses", NULL, n->misses[SIM_READS]);
	print_count(p, "write_hits", NULL, n->hits[SIM_WRITES]);
	print_count(p, "write_misses", NULL, n->misses[SIM_WRITES]);
	for (c = 0; c < SIM_CLASSES; c++) {
		if (classes || c == SIM_COHERENCE)
			print_count(p, names[c], NULL, n->by_class[c][0] + n->by_class[c][1]);
	}
}

static void sim_json_levels(struct printer *p, const struct sim *s)
{
	const struct sim_config *c = sim_config_of(s);
	struct sim_tlb_counts tlb;
	struct sim_traffic t;
	struct sim_counts n;
	uint32_t k;

	print_list(p, "levels");
	for (k = 0; k < c->nr_levels; k++) {
		sim_level_totals(s, k, &n);
		sim_level_traffic(s, k, &t);
		print_object(p, NULL);
		print_string(p, "name", c->level[k].name);
		sim_json_counts(p, &n, !c->no_classes);
		print_count(p, "evictions", NULL, t.evictions);
		print_count(p, "write_backs", NULL, t.write_backs);
		print_count(p, "writes_through", NULL, t.writes_through);
		print_count(p, "back_invalidations", NULL, t.back_invalidations);
		print_count(p, "prefetches", NULL, t.prefetches);
		print_count(p, "prefetches_useful", NULL, t.useful);
		print_count(p, "prefetches_useless", NULL, t.useless);
		print_object_end(p);
	}
	print_list_end(p);
	print_list(p, "tlb");
	for (k = 0; k < c->nr_tlbs; k++) {
		sim_tlb_totals(s, k, &tlb);
		print_object(p, NULL);
		print_string(p, "name", c->tlb[k].name);
		print_count(p, "hits", NULL, tlb.hits);
		print_count(p, "misses", NULL, tlb.misses);
		print_object_end(p);
	}
	print_list_end(p);
}

/* ---- memory and coherence ------------------------------------------------------------ */

static void sim_print_memory(struct printer *p, const struct sim *s, const struct sim_totals *total)
{
	const struct sim_config *c = sim_config_of(s);
	struct sim_traffic t;
	uint32_t k;

	print_object(p, "memory");
	print_count(p, "reads", "\nmemory: %s lines read", total->memory_reads);
	print_count(p, "writes", ", %s written\n", total->memory_writes);
	print_object_end(p);
	for (k = 0; k < c->nr_levels; k++) {
		sim_level_traffic(s, k, &t);
		if (t.prefetches)
			print_text(p, "%s prefetched %s lines: %s were used, %s were lost before\n",
				   c->level[k].name, number_text(t.prefetches),
				   number_text(t.useful), number_text(t.useless));
		if (t.writes_through)
			print_text(p, "%s passed %s writes on\n", c->level[k].name,
				   number_text(t.writes_through));
		if (t.back_invalidations)
			print_text(p, "%s took %s lines from the levels above, being inclusive\n",
				   c->level[k].name, number_text(t.back_invalidations));
	}
}

static void sim_print_coherence(struct printer *p, const struct sim_totals *t)
{
	if (!p->is_json && t->cores < 2)
		return;
	print_object(p, "coherence");
	print_count(p, "invalidations", "coherence: %s copies invalidated", t->invalidations);
	print_count(p, "upgrades", ", %s upgrades", t->upgrades);
	print_count(p, "interventions", ", %s lines from another core", t->interventions);
	print_count(p, "dirty_transfers", ", %s of them dirty\n", t->dirty_transfers);
	print_count(p, "false_sharing",
		    "  misses of lines that another core took: %s by false sharing",
		    t->false_sharing);
	print_count(p, "true_sharing", ", %s by true sharing", t->true_sharing);
	print_count(p, "unknown_sharing", t->unknown_sharing ? ", %s unknown" : NULL,
		    t->unknown_sharing);
	print_text(p, "\n");
	print_count(p, "lines_dropped",
		    t->lines_dropped ? "  %s shared lines, the least contended, were not followed "
				       "to the end\n"
				     : NULL,
		    t->lines_dropped);
	print_object_end(p);
}

/* ---- threads ------------------------------------------------------------------------ */

void mem_sim_print_thread_id(struct printer *p, const char *key, const char *fmt,
			     const struct mem_facts *facts, uint32_t number)
{
	bool known = number != SIM_NOBODY;

	print_known(p, key, fmt, known, known ? mem_facts_id(facts, number) : 0, "others");
}

static void sim_json_thread_levels(struct printer *p, const struct sim *s, uint32_t i,
				   const struct sim_thread *t)
{
	const struct sim_config *c = sim_config_of(s);
	struct sim_counts n;
	uint32_t k;

	print_list(p, "tlb_misses");
	for (k = 0; k < c->nr_tlbs; k++)
		jw_u64(&p->json, t->tlb_misses[k]);
	print_list_end(p);
	print_list(p, "levels");
	for (k = 0; k < c->nr_levels; k++) {
		sim_level_thread(s, i, k, &n);
		print_object(p, NULL);
		sim_json_counts(p, &n, !c->no_classes);
		print_object_end(p);
	}
	print_list_end(p);
}

static void sim_print_thread(struct printer *p, const struct mem_sim_result *r, uint32_t i)
{
	struct sim_counts first, last;
	const struct mem_thread *known;
	const char *name;
	struct sim_thread t;

	sim_thread(r->sim, i, &t);
	sim_level_thread(r->sim, i, 0, &first);
	sim_level_thread(r->sim, i, sim_config_of(r->sim)->nr_levels - 1, &last);
	known = mem_facts_thread(r->facts, t.thread);
	name = known ? known->name : NULL;
	print_row(p);
	mem_sim_print_thread_id(p, "id", "%-8s", r->facts, t.thread);
	print_string(p, "name", name);
	print_number(p, "core", " %4s", t.core);
	print_count(p, "reads", NULL, t.accesses[SIM_READS]);
	print_count(p, "writes", NULL, t.accesses[SIM_WRITES]);
	print_text(p, " %13s %16s %16s", number_text(t.accesses[0] + t.accesses[1]),
		   number_text(first.misses[0] + first.misses[1]),
		   number_text(last.misses[0] + last.misses[1]));
	print_text(p, " %14s %11s  ", number_text(t.lost), number_text(t.invalidated));
	print_count(p, "invalidated", NULL, t.invalidated);
	print_count(p, "lost", NULL, t.lost);
	print_count(p, "from_peer", NULL, t.from_peer);
	if (name)
		print_safe(p, name, 16);
	if (p->is_json)
		sim_json_thread_levels(p, r->sim, i, &t);
	print_row_end(p);
}

static void sim_print_threads(struct printer *p, const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t nr = sim_nr_threads(r->sim), i;

	if (!p->is_json && (nr < 2 || !r->top))
		return;
	print_text(p,
		   "\nthread   core      accesses %9s misses %9s misses   lost to others  took\n",
		   c->level[0].name, c->level[c->nr_levels - 1].name);
	print_list(p, "threads");
	for (i = 0; i < nr && (p->is_json || i < r->top); i++)
		sim_print_thread(p, r, i);
	print_list_end(p);
	if (i < nr)
		print_text(p, "and %u more\n", nr - i);
}

/* ---- the whole result ---------------------------------------------------------------- */

int mem_sim_print(const struct mem_sim_result *r, FILE *out, bool json)
{
	struct sim_totals t;
	struct printer p;

	sim_totals(r->sim, &t);
	printer_begin(&p, out, json);
	mem_sim_page_head(&p, r);
	sim_print_trace(&p, r, &t);
	if (json) {
		sim_json_levels(&p, r->sim);
	} else {
		mem_sim_print_machine(&p, sim_config_of(r->sim), r->machine);
		sim_text_levels(&p, r->sim);
		sim_text_classes(&p, r->sim);
	}
	sim_print_memory(&p, r->sim, &t);
	sim_print_coherence(&p, &t);
	sim_print_threads(&p, r);
	if (!json)
		mem_sim_print_blame(&p, r);
	mem_sim_print_sharing(&p, r);
	if (json)
		mem_sim_print_blame(&p, r);
	mem_sim_page_code(&p, r);
	return printer_end(&p);
}

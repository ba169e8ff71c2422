/* SPDX-License-Identifier: MIT */
/* mem_sim_text.c - the result of a simulation, as text. */
#include <stdio.h>

#include "base/text.h"
#include "mem.h"
#include "mem_sim.h"

/* ---- the machine and the trace ------------------------------------------------------ */

static void print_level_config(const struct sim_level_config *l)
{
	printf("  %-5s %s, ", l->name, number_bytes(l->size));
	if (l->ways)
		printf("%u way%s, ", l->ways, l->ways == 1 ? "" : "s");
	else
		fputs("fully associative, ", stdout);
	printf("lines of %u, %s, write-%s", l->line, sim_policy_name(l->policy),
	       l->write_through ? "through" : "back");
	if (l->no_allocate)
		fputs(", no allocation by writes", stdout);
	if (l->inclusion != SIM_NON_INCLUSIVE)
		printf(", %s", sim_inclusion_name(l->inclusion));
	if (l->prefetch != SIM_PREFETCH_NONE)
		printf(", prefetch %s", sim_prefetch_name(l->prefetch));
	if (l->share == 0)
		fputs(", shared by all", stdout);
	else if (l->share > 1)
		printf(", shared by %u cores", l->share);
	putchar('\n');
}

static void print_machine(const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t k;

	fputs("caches of ", stdout);
	text_put(stdout, r->machine);
	putchar('\n');
	for (k = 0; k < c->nr_levels; k++)
		print_level_config(&c->level[k]);
	for (k = 0; k < c->nr_tlbs; k++) {
		printf("  %-5s %u entries, ", c->tlb[k].name, c->tlb[k].entries);
		if (c->tlb[k].ways)
			printf("%u ways", c->tlb[k].ways);
		else
			fputs("fully associative", stdout);
		printf(", pages of %s\n", number_bytes(c->page));
	}
}

static void print_missing(const struct replay *p)
{
	if (p->aside)
		printf("  %s accesses were not asked for, and not simulated\n",
		       number_text(p->aside));
	if (p->lost || p->lost_unknown)
		printf("  %s%s accesses are missing in the trace: lost\n",
		       p->lost_unknown ? "more than " : "", number_text(p->lost));
	if (p->left_out)
		printf("  %s accesses are missing in the trace: left out on purpose\n",
		       number_text(p->left_out));
	if (p->sampled)
		puts("  the trace is a sample, and each access counts as those it stands for; "
		     "after "
		     "a\n"
		     "  gap caches hold what is old, so that misses are over-estimated");
}

static void print_trace(const struct mem_sim_result *r, const struct sim_totals *t)
{
	uint64_t all = t->accesses[0] + t->accesses[1];
	uint32_t threads = sim_nr_threads(r->sim);

	text_put(stdout, r->path);
	printf(": %s accesses, %.1f %% of them writes, %u thread%s on %llu core%s\n",
	       number_text(all), number_percent(t->accesses[1], all), threads,
	       threads == 1 ? "" : "s", (unsigned long long)t->cores, t->cores == 1 ? "" : "s");
	print_missing(r->replay);
	if (t->straddles)
		printf("  %s accesses touch more than one line, each of which counts below\n",
		       number_text(t->straddles));
}

/* ---- levels ---------------------------------------------------------------------- */

static void print_levels(const struct sim *s)
{
	const struct sim_config *c = sim_config_of(s);
	uint32_t k;

	puts("\n               reads        misses        writes        misses     missed");
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_counts n;
		uint64_t reads, writes, misses;

		sim_level_totals(s, k, &n);
		reads = n.hits[0] + n.misses[0];
		writes = n.hits[1] + n.misses[1];
		misses = n.misses[0] + n.misses[1];
		printf("%-5s %14s %13s %13s %13s %8.2f %%\n", c->level[k].name, number_text(reads),
		       number_text(n.misses[0]), number_text(writes), number_text(n.misses[1]),
		       number_percent(misses, reads + writes));
	}
	for (k = 0; k < c->nr_tlbs; k++) {
		struct sim_tlb_counts n;

		sim_tlb_totals(s, k, &n);
		printf("%-5s %14s %13s %27s %8.2f %%\n", c->tlb[k].name,
		       number_text(n.hits + n.misses), number_text(n.misses), "",
		       number_percent(n.misses, n.hits + n.misses));
	}
}

static void print_classes(const struct sim *s)
{
	const struct sim_config *c = sim_config_of(s);
	uint32_t k, i;

	puts("\nmisses          cold      capacity      conflict     coherence   write-backs");
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_counts n;
		struct sim_traffic t;

		sim_level_totals(s, k, &n);
		sim_level_traffic(s, k, &t);
		printf("%-5s", c->level[k].name);
		for (i = 0; i < SIM_CLASSES; i++) {
			if (c->no_classes && i != SIM_COHERENCE)
				printf(" %*s", i ? 13 : 14, "-");
			else
				printf(" %*s", i ? 13 : 14,
				       number_text(n.by_class[i][0] + n.by_class[i][1]));
		}
		printf(" %13s\n", number_text(t.write_backs));
	}
}

static void print_traffic(const struct sim *s, const struct sim_totals *total)
{
	const struct sim_config *c = sim_config_of(s);
	uint32_t k;

	printf("\nmemory: %s lines read, %s written\n", number_text(total->memory_reads),
	       number_text(total->memory_writes));
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_traffic t;

		sim_level_traffic(s, k, &t);
		if (t.prefetches)
			printf("%s prefetched %s lines: %s were used, %s were lost before\n",
			       c->level[k].name, number_text(t.prefetches), number_text(t.useful),
			       number_text(t.useless));
		if (t.writes_through)
			printf("%s passed %s writes on\n", c->level[k].name,
			       number_text(t.writes_through));
		if (t.back_invalidations)
			printf("%s took %s lines from the levels above, being inclusive\n",
			       c->level[k].name, number_text(t.back_invalidations));
	}
}

/* ---- cores and threads -------------------------------------------------------------- */

static void print_coherence(const struct sim_totals *t)
{
	if (t->cores < 2)
		return;
	printf("coherence: %s copies invalidated, %s upgrades, %s lines from another core, %s of "
	       "them dirty\n",
	       number_text(t->invalidations), number_text(t->upgrades),
	       number_text(t->interventions), number_text(t->dirty_transfers));
	printf("  misses of lines that another core took: %s by false sharing, %s by true sharing",
	       number_text(t->false_sharing), number_text(t->true_sharing));
	if (t->unknown_sharing)
		printf(", %s unknown", number_text(t->unknown_sharing));
	putchar('\n');
	if (t->lines_dropped)
		printf("  %s shared lines, the least contended, were not followed to the end\n",
		       number_text(t->lines_dropped));
}

static const char *thread_text(const struct mem_facts *facts, uint32_t number)
{
	static char ring[4][24];
	static unsigned next;
	char *buf = ring[next++ % 4];

	if (number == SIM_NOBODY)
		return "others";
	snprintf(buf, sizeof(ring[0]), "%llu", (unsigned long long)mem_facts_id(facts, number));
	return buf;
}

static void print_threads(const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t nr = sim_nr_threads(r->sim), i;

	if (nr < 2 || !r->top)
		return;
	printf("\nthread   core      accesses %9s misses %9s misses   lost to others  took\n",
	       c->level[0].name, c->level[c->nr_levels - 1].name);
	for (i = 0; i < nr && i < r->top; i++) {
		struct sim_counts first, last;
		const struct mem_thread *known;
		struct sim_thread t;

		sim_thread(r->sim, i, &t);
		sim_level_thread(r->sim, i, 0, &first);
		sim_level_thread(r->sim, i, c->nr_levels - 1, &last);
		printf("%-8s %4u %13s %16s %16s %14s %11s  ", thread_text(r->facts, t.thread),
		       t.core, number_text(t.accesses[0] + t.accesses[1]),
		       number_text(first.misses[0] + first.misses[1]),
		       number_text(last.misses[0] + last.misses[1]), number_text(t.lost),
		       number_text(t.invalidated));
		known = mem_facts_thread(r->facts, t.thread);
		if (known && known->name)
			text_put_short(stdout, known->name, 16);
		putchar('\n');
	}
	if (i < nr)
		printf("and %u more\n", nr - i);
}

/* ---- shared lines ------------------------------------------------------------------ */

/* "0-7 16-23" */
static void print_bytes(uint64_t mask, uint32_t line)
{
	uint32_t grain = line > 64 ? line / 64 : 1, i = 0;

	while (i < 64 && mask >> i) {
		uint32_t from = i + (uint32_t)__builtin_ctzll(mask >> i), to = from;

		while (to < 64 && mask >> to & 1)
			to++;
		printf(" %u", from * grain);
		if (to * grain - 1 > from * grain)
			printf("-%u", to * grain - 1);
		i = to;
	}
}

static void print_sharers(const struct mem_sim_result *r, const struct sim_shared_line *l)
{
	uint32_t i, line = sim_config_of(r->sim)->level[0].line;

	for (i = 0; i < l->nr_sharers && i < 4; i++) {
		const struct sim_sharer *w = &l->sharers[i];

		printf("    thread %s", thread_text(r->facts, w->thread));
		if (w->reads) {
			printf(" reads %s times, bytes", number_text(w->reads));
			print_bytes(w->read_mask, line);
		}
		if (w->writes) {
			printf("%s writes %s times, bytes", w->reads ? ";" : "",
			       number_text(w->writes));
			print_bytes(w->write_mask, line);
		}
		putchar('\n');
	}
	if (i < l->nr_sharers)
		printf("    and %u more threads\n", l->nr_sharers - i);
	for (i = 0; i < l->nr_thefts && i < 4; i++)
		printf("    thread %s takes it from %s %s times, %s of them missed for nothing\n",
		       thread_text(r->facts, l->thefts[i].by),
		       thread_text(r->facts, l->thefts[i].from),
		       number_text(l->thefts[i].invalidations),
		       number_text(l->thefts[i].false_misses));
}

static void print_names(const struct mem_sim_result *r, uint64_t address)
{
	const struct blame_shared *b = r->blame ? blame_shared_at(r->blame, address) : NULL;
	uint32_t i;

	for (i = 0; b && i < b->nr_fields && i < 8; i++) {
		printf("    %s ", b->fields[i].writes ? "written:" : "read:   ");
		text_put(stdout, b->fields[i].text);
		printf(", by thread %s\n", thread_text(r->facts, b->fields[i].thread));
	}
}

static void print_sharing(const struct mem_sim_result *r)
{
	const struct sim_shared_line *lines[MEM_SIM_TOP_MAX];
	size_t nr = sim_shared_lines(r->sim, lines, r->top), i;

	if (!nr)
		return;
	puts("\nlines that cores take from each other, the worst first");
	for (i = 0; i < nr; i++) {
		printf("  0x%012llx  %s invalidations, %s misses by false sharing, %s by true\n",
		       (unsigned long long)lines[i]->address, number_text(lines[i]->invalidations),
		       number_text(lines[i]->false_misses), number_text(lines[i]->true_misses));
		print_names(r, lines[i]->address);
		print_sharers(r, lines[i]);
	}
}

void mem_sim_text(const struct mem_sim_result *r)
{
	struct sim_totals t;

	sim_totals(r->sim, &t);
	print_trace(r, &t);
	print_machine(r);
	print_levels(r->sim);
	print_classes(r->sim);
	print_traffic(r->sim, &t);
	print_coherence(&t);
	print_threads(r);
	mem_sim_blame_text(r);
	print_sharing(r);
}

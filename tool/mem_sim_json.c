/* SPDX-License-Identifier: MIT */
/* mem_sim_json.c - the result of a simulation, as one JSON object or as CSV. */
#include <stdio.h>

#include "mem_sim.h"

/* ---- the machine ---------------------------------------------------------------- */

static void json_level_config(struct json_writer *w, const struct sim_level_config *l)
{
	jw_object_begin(w);
	jw_field_string(w, "name", l->name);
	jw_field_u64(w, "size", l->size);
	jw_field_u64(w, "line", l->line);
	jw_key(w, "ways");
	if (l->ways)
		jw_u64(w, l->ways);
	else
		jw_string(w, "full");
	jw_field_string(w, "policy", sim_policy_name(l->policy));
	jw_field_string(w, "write", l->write_through ? "through" : "back");
	jw_field_bool(w, "allocate", !l->no_allocate);
	jw_field_string(w, "inclusion", sim_inclusion_name(l->inclusion));
	jw_field_string(w, "prefetch", sim_prefetch_name(l->prefetch));
	jw_key(w, "share");
	if (l->share)
		jw_u64(w, l->share);
	else
		jw_string(w, "all");
	jw_object_end(w);
}

void mem_sim_machine(struct json_writer *w, const struct sim_config *c)
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
		jw_key(w, "ways");
		if (c->tlb[k].ways)
			jw_u64(w, c->tlb[k].ways);
		else
			jw_string(w, "full");
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_field_u64(w, "page", c->page);
	jw_field_u64(w, "cores", c->cores);
	jw_field_u64(w, "seed", c->seed);
	jw_object_end(w);
}

/* ---- levels ---------------------------------------------------------------------- */

static void json_counts(struct json_writer *w, const struct sim_counts *n, bool classes)
{
	static const char *const names[] = { "cold", "capacity", "conflict", "coherence" };
	unsigned c;

	jw_field_u64(w, "hits", n->hits[0] + n->hits[1]);
	jw_field_u64(w, "misses", n->misses[0] + n->misses[1]);
	jw_field_u64(w, "read_hits", n->hits[SIM_READS]);
	jw_field_u64(w, "read_misses", n->misses[SIM_READS]);
	jw_field_u64(w, "write_hits", n->hits[SIM_WRITES]);
	jw_field_u64(w, "write_misses", n->misses[SIM_WRITES]);
	for (c = 0; c < SIM_CLASSES; c++) {
		if (classes || c == SIM_COHERENCE)
			jw_field_u64(w, names[c], n->by_class[c][0] + n->by_class[c][1]);
	}
}

static void json_levels(struct json_writer *w, const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t k;

	jw_key(w, "levels");
	jw_array_begin(w);
	for (k = 0; k < c->nr_levels; k++) {
		struct sim_counts n;
		struct sim_traffic t;

		sim_level_totals(r->sim, k, &n);
		sim_level_traffic(r->sim, k, &t);
		jw_object_begin(w);
		jw_field_string(w, "name", c->level[k].name);
		json_counts(w, &n, !c->no_classes);
		jw_field_u64(w, "evictions", t.evictions);
		jw_field_u64(w, "write_backs", t.write_backs);
		jw_field_u64(w, "writes_through", t.writes_through);
		jw_field_u64(w, "back_invalidations", t.back_invalidations);
		jw_field_u64(w, "prefetches", t.prefetches);
		jw_field_u64(w, "prefetches_useful", t.useful);
		jw_field_u64(w, "prefetches_useless", t.useless);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_key(w, "tlb");
	jw_array_begin(w);
	for (k = 0; k < c->nr_tlbs; k++) {
		struct sim_tlb_counts t;

		sim_tlb_totals(r->sim, k, &t);
		jw_object_begin(w);
		jw_field_string(w, "name", c->tlb[k].name);
		jw_field_u64(w, "hits", t.hits);
		jw_field_u64(w, "misses", t.misses);
		jw_object_end(w);
	}
	jw_array_end(w);
}

/* ---- threads --------------------------------------------------------------------- */

static void json_thread_id(struct json_writer *w, const char *key, const struct mem_facts *facts,
			   uint32_t number)
{
	if (number == SIM_NOBODY)
		jw_field_null(w, key);
	else
		jw_field_u64(w, key, mem_facts_id(facts, number));
}

static void json_threads(struct json_writer *w, const struct mem_sim_result *r)
{
	const struct sim_config *c = sim_config_of(r->sim);
	uint32_t i, k;

	jw_key(w, "threads");
	jw_array_begin(w);
	for (i = 0; i < sim_nr_threads(r->sim); i++) {
		const struct mem_thread *known;
		struct sim_thread t;
		struct sim_counts n;

		sim_thread(r->sim, i, &t);
		known = mem_facts_thread(r->facts, t.thread);
		jw_object_begin(w);
		json_thread_id(w, "id", r->facts, t.thread);
		jw_field_string(w, "name", known ? known->name : NULL);
		jw_field_u64(w, "core", t.core);
		jw_field_u64(w, "reads", t.accesses[SIM_READS]);
		jw_field_u64(w, "writes", t.accesses[SIM_WRITES]);
		jw_field_u64(w, "invalidated", t.invalidated);
		jw_field_u64(w, "lost", t.lost);
		jw_field_u64(w, "from_peer", t.from_peer);
		jw_key(w, "tlb_misses");
		jw_array_begin(w);
		for (k = 0; k < c->nr_tlbs; k++)
			jw_u64(w, t.tlb_misses[k]);
		jw_array_end(w);
		jw_key(w, "levels");
		jw_array_begin(w);
		for (k = 0; k < c->nr_levels; k++) {
			sim_level_thread(r->sim, i, k, &n);
			jw_object_begin(w);
			json_counts(w, &n, !c->no_classes);
			jw_object_end(w);
		}
		jw_array_end(w);
		jw_object_end(w);
	}
	jw_array_end(w);
}

/* ---- shared lines ------------------------------------------------------------------ */

/* "0-7,16": the bytes of a line that a mask stands for. */
static void json_bytes(struct json_writer *w, const char *key, uint64_t mask, uint32_t line)
{
	uint64_t grain = line > 64 ? line / 64 : 1;
	uint32_t i = 0;

	jw_key(w, key);
	jw_array_begin(w);
	while (i < 64 && mask >> i) {
		uint32_t from = i + (uint32_t)__builtin_ctzll(mask >> i), to = from;

		while (to < 64 && mask >> to & 1)
			to++;
		jw_array_begin(w);
		jw_u64(w, from * grain);
		jw_u64(w, to * grain - 1);
		jw_array_end(w);
		i = to;
	}
	jw_array_end(w);
}

static void json_names(struct json_writer *w, const struct mem_sim_result *r, uint64_t address)
{
	const struct blame_shared *b = r->blame ? blame_shared_at(r->blame, address) : NULL;
	uint32_t i;

	if (!b)
		return;
	jw_key(w, "fields");
	jw_array_begin(w);
	for (i = 0; i < b->nr_fields; i++) {
		jw_object_begin(w);
		jw_field_string(w, "name", b->fields[i].text);
		json_thread_id(w, "thread", r->facts, b->fields[i].thread);
		jw_field_u64(w, "offset", b->fields[i].offset);
		jw_field_u64(w, "reads_that_missed", b->fields[i].reads);
		jw_field_u64(w, "writes_that_missed", b->fields[i].writes);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void json_shared_line(struct json_writer *w, const struct mem_sim_result *r,
			     const struct sim_shared_line *l)
{
	uint32_t i, line = sim_config_of(r->sim)->level[0].line;
	char hex[24];

	snprintf(hex, sizeof(hex), "0x%llx", (unsigned long long)l->address);
	jw_object_begin(w);
	jw_field_string(w, "address", hex);
	jw_field_u64(w, "invalidations", l->invalidations);
	jw_field_u64(w, "false_misses", l->false_misses);
	jw_field_u64(w, "true_misses", l->true_misses);
	jw_key(w, "threads");
	jw_array_begin(w);
	for (i = 0; i < l->nr_sharers; i++) {
		jw_object_begin(w);
		json_thread_id(w, "id", r->facts, l->sharers[i].thread);
		jw_field_u64(w, "reads", l->sharers[i].reads);
		jw_field_u64(w, "writes", l->sharers[i].writes);
		json_bytes(w, "bytes_read", l->sharers[i].read_mask, line);
		json_bytes(w, "bytes_written", l->sharers[i].write_mask, line);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_field_u64(w, "accesses_of_others", l->other_sharers);
	jw_key(w, "taken");
	jw_array_begin(w);
	for (i = 0; i < l->nr_thefts; i++) {
		jw_object_begin(w);
		json_thread_id(w, "by", r->facts, l->thefts[i].by);
		json_thread_id(w, "from", r->facts, l->thefts[i].from);
		jw_field_u64(w, "invalidations", l->thefts[i].invalidations);
		jw_field_u64(w, "false_misses", l->thefts[i].false_misses);
		jw_field_u64(w, "true_misses", l->thefts[i].true_misses);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_field_u64(w, "taken_by_others", l->other_thefts);
	json_names(w, r, l->address);
	jw_object_end(w);
}

static void json_sharing(struct json_writer *w, const struct mem_sim_result *r)
{
	const struct sim_shared_line *lines[MEM_SIM_TOP_MAX];
	size_t nr = sim_shared_lines(r->sim, lines, r->top), i;

	jw_key(w, "shared_lines");
	jw_array_begin(w);
	for (i = 0; i < nr; i++)
		json_shared_line(w, r, lines[i]);
	jw_array_end(w);
}

/* ---- the whole result ------------------------------------------------------------ */

static void json_trace(struct json_writer *w, const struct mem_sim_result *r)
{
	jw_field_string(w, "file", r->path);
	jw_field_string(w, "machine_from", r->machine);
	jw_key(w, "machine");
	mem_sim_machine(w, sim_config_of(r->sim));
	jw_field_u64(w, "simulated", r->replay->accesses);
	jw_field_u64(w, "left_aside", r->replay->aside);
	jw_field_u64(w, "lost", r->replay->lost);
	jw_field_bool(w, "lost_unknown", r->replay->lost_unknown);
	jw_field_u64(w, "left_out", r->replay->left_out);
	jw_field_bool(w, "sampled", r->replay->sampled);
}

void mem_sim_json(const struct mem_sim_result *r)
{
	struct json_writer w;
	struct sim_totals t;

	sim_totals(r->sim, &t);
	jw_init_file(&w, stdout);
	jw_object_begin(&w);
	json_trace(&w, r);
	jw_field_u64(&w, "accesses", t.accesses[0] + t.accesses[1]);
	jw_field_u64(&w, "reads", t.accesses[SIM_READS]);
	jw_field_u64(&w, "writes", t.accesses[SIM_WRITES]);
	jw_field_u64(&w, "bytes", t.bytes);
	jw_field_u64(&w, "straddles", t.straddles);
	jw_field_u64(&w, "empty", t.empty);
	jw_field_u64(&w, "cores", t.cores);
	json_levels(&w, r);
	jw_key(&w, "memory");
	jw_object_begin(&w);
	jw_field_u64(&w, "reads", t.memory_reads);
	jw_field_u64(&w, "writes", t.memory_writes);
	jw_object_end(&w);
	jw_key(&w, "coherence");
	jw_object_begin(&w);
	jw_field_u64(&w, "invalidations", t.invalidations);
	jw_field_u64(&w, "upgrades", t.upgrades);
	jw_field_u64(&w, "interventions", t.interventions);
	jw_field_u64(&w, "dirty_transfers", t.dirty_transfers);
	jw_field_u64(&w, "false_sharing", t.false_sharing);
	jw_field_u64(&w, "true_sharing", t.true_sharing);
	jw_field_u64(&w, "unknown_sharing", t.unknown_sharing);
	jw_field_u64(&w, "lines_dropped", t.lines_dropped);
	jw_object_end(&w);
	json_threads(&w, r);
	json_sharing(&w, r);
	mem_sim_blame_json(&w, r);
	jw_object_end(&w);
	jw_newline(&w);
	jw_release(&w);
}

/* ---- CSV ------------------------------------------------------------------------- */

static void csv_row(const char *thread, const char *level, const struct sim_counts *n)
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
		csv_row("all", c->level[k].name, &n);
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
			csv_row(id, c->level[k].name, &n);
		}
	}
}

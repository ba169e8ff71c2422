/* SPDX-License-Identifier: MIT */
/*
 * blame.h - attribute misses to types and fields, source lines and shared cache lines.
 *
 *	struct blame *b = blame_new(sim_config_of(sim), &err);
 *
 *	while ((rec = mem_reader_next(r))) {
 *		blame_modules(b, mem_reader_facts(r));     cheap; takes new modules
 *		if (!mem_is_access(rec)) {
 *			blame_record(b, rec);
 *			continue;
 *		}
 *		sim_access(sim, rec->thread, rec->address, rec->size, rec->kind == MEM_WRITE, &out);
 *		blame_access(b, rec, &out);
 *	}
 *	nr = blame_owners(b, list, 10);
 *
 * Counts are in 1/256 of an access (BLAME_ONE), since an access of a sampled trace stands for
 * several.  An access that touches several fields counts as an access of each of them; its misses
 * are divided equally between the fields in the lines that missed, so that the misses of all
 * fields add up to those of the type, and those of all types to those of the simulator.
 *
 * Memory use depends on the program (types, code, shared lines up to a bound), not on the length
 * of the trace.
 */
#ifndef MEMORY_BLAME_BLAME_H
#define MEMORY_BLAME_BLAME_H

#include "memory/format/mem_facts.h"
#include "memory/sim/replay_sums.h"
#include "memory/sim/sim.h"
#include "memory/types/address_owner.h"
#include "memory/types/type_files.h"
#include "symbols/symbols.h"

#define BLAME_ONE        256u
#define BLAME_SHARED_MAX 4096u /* shared cache lines whose fields are recorded */
#define BLAME_FIELDS_MAX 16u   /* fields per shared line */
#define BLAME_SITES_MAX  (1u << 20)

struct blame_counts {
	uint64_t reads, writes;
	uint64_t misses[SIM_LEVELS_MAX];
	uint64_t by_class[SIM_CLASSES]; /* misses of the first level */
	uint64_t false_sharing;         /* coherence misses whose own bytes no other core wrote */
	uint64_t from_peer;             /* lines supplied by another core's cache */
};

/* Counts of a leaf of a type, of its padding, or of the bytes after it. */
struct blame_field {
	struct blame_counts counts;
	uint64_t readers, writers; /* bit per thread number modulo 64 */
};

struct blame_owner {
	uint32_t owner; /* number in `places` */
	struct blame_counts counts;
	uint32_t nr_fields;         /* leaves plus two (padding, bytes after the type); 0: none */
	struct blame_field *fields; /* NULL: none */
	uint32_t nr_lines;          /* cache lines of an element, for a type with fields */
	struct blame_counts *lines; /* by offset in the element; the last one: all after it */
	uint64_t blocks;            /* annotated blocks that were used */
	bool by_vote;               /* heap blocks have the type by vote */
};

/* One source line, or one code address where the line is unknown. */
struct blame_site {
	uint64_t pc;                          /* one of its code addresses; 0: unknown */
	const char *function, *file, *module; /* NULL: unknown */
	uint32_t line;
	struct blame_counts counts;
	uint32_t owner; /* owner of the first access that missed */
};

/* One thread's accesses to one field of a shared line. */
struct blame_shared_field {
	const char *text; /* "stats[3].hits" */
	uint32_t owner;
	uint32_t thread;
	uint32_t offset;        /* offset of the first access in the line */
	uint64_t reads, writes; /* only accesses that missed or invalidated; counts, not 1/256 */
};
struct blame_shared {
	uint64_t address;
	uint64_t false_sharing, true_sharing; /* coherence misses */
	uint32_t nr_fields;
	struct blame_shared_field fields[BLAME_FIELDS_MAX];
	uint64_t others; /* accesses of further fields */
};

struct blame;

/* NULL: out of memory. */
struct blame *blame_new(const struct sim_config *config, struct err *err);

/* Take types from files that the trace does not name; before the first record. */
int blame_add_files(struct blame *b, const struct type_files *files, struct err *err);
/*
 * Read the trace @path once, before all records, so that heap blocks without annotations get types:
 * the instructions that access them vote (block_types.h).  Standard input cannot be read twice and
 * is left out.  Returns 0, or the error of the reader.
 */
int blame_learn(struct blame *b, const char *path, struct err *err);

/* Look functions of a module up from now on, unless it is gone.  0 or -ENOMEM. */
int blame_add_symbols(struct symbols *symbols, const struct mem_module *m);

/* Take the modules that the trace has added since.  0 or -ENOMEM. */
int blame_modules(struct blame *b, const struct mem_facts *facts);

/* Take a record other than an access.  0 or -ENOMEM. */
int blame_record(struct blame *b, const struct mem_record *r);

/*
 * The same outside of what is counted: which memory is in use is followed, so that later accesses
 * have an owner, but no allocation or coroutine is counted.  0 or -ENOMEM.
 */
int blame_follow(struct blame *b, const struct mem_record *r);

/* Count an access and its outcome in the simulator.  0 or -ENOMEM. */
int blame_access(struct blame *b, const struct mem_record *r, const struct sim_outcome *out);

/* For replay.h: fetch what blame_access() will read into the processor's cache. */
void blame_fetch(const struct blame *b, uint64_t address, int step);

/*
 * For replay_sums.h: the addresses for which accesses count as @r does, the last one, and their
 * tally; NULL: there is none.
 */
struct replay_tally *blame_alike(const struct blame *b, const struct mem_record *r, uint64_t *start,
				 uint64_t *end);

/*
 * For replay_sums.h: the addresses for which accesses count differently after @r, which is not an
 * access.  False: all addresses.
 */
bool blame_changes_range(struct blame *b, const struct mem_record *r, uint64_t *start,
			 uint64_t *end);

/* How the blocks of the heap are named. */
enum blame_naming {
	BLAME_ANNOTATED,
	BLAME_BY_VOTE, /* of the instructions that access the block, or by its allocator */
	BLAME_BY_CODE, /* by the accessing instruction */
	BLAME_BY_SITE, /* not a type: the place that allocated it */
	BLAME_UNNAMED,
	BLAME_NAMINGS,
};

/* ---- results -------------------------------------------------------------- */

/* Estimated cost of the misses in cycles, see docs/memory-layout.md; tables are sorted by it. */
uint64_t blame_cost(const struct blame *b, const struct blame_counts *c);

/* Estimated cycles of a miss in level @level of @nr_levels. */
uint32_t blame_level_cost(uint32_t level, uint32_t nr_levels);
#define BLAME_PEER_COST 60u /* a line from another core, added to the levels' misses */

/* The @nr most expensive entries; returns how many exist.  Valid until blame_free(). */
size_t blame_owners(struct blame *b, const struct blame_owner **out, size_t nr);
size_t blame_sites(struct blame *b, const struct blame_site **out, size_t nr);
size_t blame_shared(struct blame *b, const struct blame_shared **out, size_t nr);
/* The entry of the line of @address; NULL: none. */
const struct blame_shared *blame_shared_at(const struct blame *b, uint64_t address);

/* Totals of all accesses. */
const struct blame_counts *blame_total(struct blame *b);
uint64_t blame_shared_dropped(const struct blame *b); /* accesses beyond the bound */

/* Misses of the heap, by how their types are known; reads and writes are not counted. */
const struct blame_counts *blame_heap(struct blame *b, enum blame_naming naming);

/*
 * For a type that heap blocks have by vote: the share of votes that agree, from 0 to 1; negative:
 * no block has it by vote.
 */
double blame_certainty(const struct blame *b, const struct blame_owner *owner);

const struct mem_places *blame_places(const struct blame *b);
struct types *blame_types(const struct blame *b);
uint32_t blame_levels(const struct blame *b);
uint32_t blame_line_size(const struct blame *b);

/* Problems with types or symbols, one sentence each; NULL: no more. */
const char *blame_problem(const struct blame *b, unsigned index);

/* The name of a field of @owner, "(padding)" or "(behind the type)".  Owned by @b. */
const char *blame_field_name(const struct blame *b, const struct blame_owner *owner,
			     uint32_t field);

/* Accepts NULL. */
void blame_free(struct blame *b);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * blame.h - whose misses they are: by type and field, by source line, by shared line.
 *
 *	struct blame *b = blame_new(sim_config_of(sim), &err);
 *
 *	while ((rec = mem_reader_next(r))) {
 *		blame_modules(b, mem_reader_facts(r));     cheap; when there may be new ones
 *		if (!mem_is_access(rec)) {
 *			blame_record(b, rec);
 *			continue;
 *		}
 *		sim_access(sim, rec->thread, rec->address, rec->size, rec->kind == MEM_WRITE, &out);
 *		blame_access(b, rec, &out);
 *	}
 *	nr = blame_owners(b, list, 10);
 *
 * Counts are in 1/256 of an access (BLAME_ONE), since accesses of sampled traces stand for
 * several.  An access that touches several fields counts as an access of each of them; its
 * misses are divided equally between the fields in the lines that missed, so that the misses of
 * fields add up to those of the type, and those of types to those of the simulator.
 *
 * Memory follows the program (types, code, shared lines up to a bound), not the trace.
 */
#ifndef MEMORY_BLAME_H
#define MEMORY_BLAME_H

#include "memory/facts.h"
#include "memory/sim/sim.h"
#include "memory/types/places.h"
#include "symbols/symbols.h"

#define BLAME_ONE        256u
#define BLAME_SHARED_MAX 4096u /* lines that threads take from each other, with their names */
#define BLAME_FIELDS_MAX 16u   /* of one such line */
#define BLAME_SITES_MAX  (1u << 20)

struct blame_counts {
	uint64_t reads, writes;
	uint64_t misses[SIM_LEVELS_MAX];
	uint64_t by_class[SIM_CLASSES]; /* of the first level */
	uint64_t false_sharing; /* of the coherence misses: nothing that it touched was written */
	uint64_t from_peer;     /* another core's cache gave the line */
};

/* Of a leaf of a type, of its padding, or of what lies behind it. */
struct blame_field {
	struct blame_counts counts;
	uint64_t readers, writers; /* bit per thread number modulo 64 */
};

struct blame_owner {
	uint32_t owner; /* number in places */
	struct blame_counts counts;
	uint32_t nr_fields;         /* its leaves, and two more: padding and behind; 0: none */
	struct blame_field *fields; /* NULL: none */
	uint32_t nr_lines;          /* of a type with fields: lines of an element */
	struct blame_counts *lines; /* by offset in the element; the last stands for all behind */
	uint64_t blocks;            /* annotated blocks that were used */
};

/* One source line, or one place in the code where no line is known. */
struct blame_site {
	uint64_t pc;                          /* one of them; 0: not known */
	const char *function, *file, *module; /* NULL: not known */
	uint32_t line;
	struct blame_counts counts;
	uint32_t owner; /* whose most of its misses are, first met */
};

/* Who touches what in a line that threads take from each other. */
struct blame_shared_field {
	const char *text; /* "stats[3].hits" */
	uint32_t owner;
	uint32_t thread;
	uint32_t offset;        /* in the line, of the first access */
	uint64_t reads, writes; /* of those that missed, or took the line away; counts, not 1/256 */
};
struct blame_shared {
	uint64_t address;
	uint64_t false_sharing, true_sharing; /* coherence misses */
	uint32_t nr_fields;
	struct blame_shared_field fields[BLAME_FIELDS_MAX];
	uint64_t others; /* accesses of fields beyond */
};

struct blame;

/* NULL without memory. */
struct blame *blame_new(const struct sim_config *config, struct err *err);

/* What the trace tells of files.  0 or -ENOMEM. */
int blame_modules(struct blame *b, const struct mem_facts *facts);

/* Annotations.  0 or -ENOMEM. */
int blame_record(struct blame *b, const struct mem_record *r);

/* An access and what it did.  0 or -ENOMEM. */
int blame_access(struct blame *b, const struct mem_record *r, const struct sim_outcome *out);

/* ---- what came of it ------------------------------------------------------ */

/* Cycles or so that misses cost, see docs/memory-layout.md: what tables are sorted by. */
uint64_t blame_cost(const struct blame *b, const struct blame_counts *c);

/* What a miss of level @level costs with @nr_levels of them. */
uint32_t blame_level_cost(uint32_t level, uint32_t nr_levels);
#define BLAME_PEER_COST 60u /* a line from another core, beside the levels' misses */

/* The @nr most expensive; returns how many there are.  Ours until the free. */
size_t blame_owners(struct blame *b, const struct blame_owner **out, size_t nr);
size_t blame_sites(struct blame *b, const struct blame_site **out, size_t nr);
size_t blame_shared(struct blame *b, const struct blame_shared **out, size_t nr);
/* The one of that address (of its line's start); NULL: none. */
const struct blame_shared *blame_shared_at(const struct blame *b, uint64_t address);

/* In all, and how many owners and source lines there are. */
const struct blame_counts *blame_total(const struct blame *b);
uint64_t blame_shared_dropped(const struct blame *b); /* lines beyond the bound */

const struct mem_places *blame_places(const struct blame *b);
struct types *blame_types(const struct blame *b);
uint32_t blame_levels(const struct blame *b);
uint32_t blame_line_size(const struct blame *b);

/* What could not be had, a sentence each; NULL: nothing (more) to say. */
const char *blame_problem(const struct blame *b, unsigned index);

/* "next", "(padding)", "(behind the type)" of a field of @owner.  Ours. */
const char *blame_field_name(const struct blame *b, const struct blame_owner *owner,
			     uint32_t field);

/* Accepts NULL. */
void blame_free(struct blame *b);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * advise.h - read a trace, propose better layouts, and replay the trace to verify them.
 *
 * The trace is read up to three times: to profile the types, to replay every proposal in one
 * pass, and to replay all chosen layouts together.
 */
#ifndef MEMORY_LAYOUT_ADVISE_H
#define MEMORY_LAYOUT_ADVISE_H

#include "memory/layout/propose.h"
#include "memory/layout/remap.h"
#include "memory/format/mem_reader.h"

/*
 * Minimum gain of an advised layout: share of the type's cost; share of total cost plus
 * accesses.
 */
#define STUDY_GAIN_OF_TYPE 0.05
#define STUDY_GAIN_OF_ALL  0.01
/* A type with less of the run's cost is not replayed: no layout can reach STUDY_GAIN_OF_ALL. */
#define STUDY_COST_LEAST (STUDY_GAIN_OF_ALL / 2)
#define STUDY_TYPES_MAX  32u

struct study_config {
	struct sim_config sim;
	const char *type;        /* only this type; NULL: the most expensive ones */
	const char *remap;       /* file of layouts to try; NULL: propose layouts */
	unsigned top;            /* number of types to study */
	struct type_files files; /* types that the trace does not name */
};

/* Results of a complete replay. */
struct study_run {
	uint64_t misses[SIM_LEVELS_MAX];
	uint64_t from_peer; /* lines that another core's cache provided */
	uint64_t invalidations, false_sharing;
	uint64_t cost;
};

struct study_candidate {
	struct shape *shape;
	struct study_run run;
	const struct study_run *base; /* the run it is compared with */
	double gain;                  /* share of the type's cost in `base`; negative: worse */
};

struct study_type {
	struct profile_type *profile;
	const char *name;     /* owned by the types */
	const char *obstacle; /* why nothing can be proposed; NULL: something can */
	const char *like;     /* a type that begins with the same members; NULL: none is used */
	bool is_cheap;        /* no layout was tried: see STUDY_COST_LEAST */
	uint32_t nr_like;     /* pieces that stay in front for that */
	struct study_candidate candidates[PROPOSE_MAX];
	int nr_candidates;
	struct study_run moved; /* current layout, with its blocks moved */
	bool has_moved;
	int best;  /* candidate to paste; -1: no gain */
	int split; /* better candidate that needs code changes; -1: none */
};

struct study {
	struct study_config config;
	struct blame *blame;
	struct profile *profile;
	struct remap remap;
	struct study_type *types;
	size_t nr_types;
	size_t nr_all; /* types with at least one access */
	uint64_t nr_accesses;
	uint64_t lost, left_out; /* accesses that are missing in the trace */
	struct study_run before, after;
	struct study_run base; /* reference for `after`: `before`, or the same with blocks moved */
	bool has_after;        /* at least one layout was changed */
};

/*
 * Reads @path.  Returns 0, or a negative errno with a message.  @faults: defects of the trace
 * that the first pass found.
 */
int study_run(struct study *s, const struct study_config *config, const char *path,
	      struct mem_faults *faults, struct err *err);
void study_release(struct study *s);

/* after / before - 1; 0 if @before is 0. */
double study_change(uint64_t before, uint64_t after);

#endif

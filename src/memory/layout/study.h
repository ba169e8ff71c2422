/* SPDX-License-Identifier: MIT */
/*
 * study.h - read a trace, think of better layouts, and replay it to see which of them are.
 *
 * The trace is read up to three times: to see how types are used, to replay every proposal
 * beside each other, and to replay all that was chosen together.
 */
#ifndef MEMORY_LAYOUT_STUDY_H
#define MEMORY_LAYOUT_STUDY_H

#include "memory/layout/propose.h"
#include "memory/layout/remap.h"
#include "memory/reader.h"

/* What a proposal must save to be advice: of the type's own cost; of all, accesses included. */
#define STUDY_GAIN_OF_TYPE 0.05
#define STUDY_GAIN_OF_ALL  0.01
#define STUDY_TYPES_MAX    32u

struct study_config {
	struct sim_config sim;
	const char *type;  /* only this one; NULL: the most expensive */
	const char *remap; /* a file of layouts to try; NULL: propose some */
	unsigned top;      /* types to look at */
};

/* What a whole run came to. */
struct study_run {
	uint64_t misses[SIM_LEVELS_MAX];
	uint64_t from_peer; /* lines that another core's cache gave */
	uint64_t invalidations, false_sharing;
	uint64_t cost;
};

struct study_candidate {
	struct shape *shape;
	struct study_run run;
	const struct study_run *base; /* what it is compared with */
	double gain;                  /* part of the type's cost; negative: it is worse */
};

struct study_type {
	struct profile_type *profile;
	const char *name;     /* ours */
	const char *obstacle; /* why nothing can be proposed; NULL */
	struct study_candidate candidates[PROPOSE_MAX];
	int nr_candidates;
	struct study_run moved; /* as it is, but its blocks moved */
	bool has_moved;
	int best;  /* to be pasted; -1: no gain */
	int split; /* better still, but needs more than pasting; -1: none */
};

struct study {
	struct study_config config;
	struct blame *blame;
	struct profile *profile;
	struct remap remap;
	struct study_type *types;
	size_t nr_types;
	size_t nr_all; /* types that were used at all */
	uint64_t nr_accesses;
	uint64_t lost, left_out; /* accesses that the trace says are missing */
	struct study_run before, after;
	struct study_run
		base;   /* what after is compared with: before, or the same with blocks moved */
	bool has_after; /* something was changed */
};

/*
 * Reads @path.  0, or a negative errno with words; @faults: what was wrong with the trace, of the
 * first reading.
 */
int study_run(struct study *s, const struct study_config *config, const char *path,
	      struct mem_faults *faults, struct err *err);
void study_release(struct study *s);

/* after / before - 1; 0 where there was nothing. */
double study_change(uint64_t before, uint64_t after);

#endif

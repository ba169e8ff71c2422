/* SPDX-License-Identifier: MIT */
/*
 * replay.h - a trace through a simulator.
 *
 * Accesses that are not wanted are left out, as if the program had not made them.  What is missing
 * in the trace is counted: a simulation of a trace with holes is one of another program.
 */
#ifndef MEMORY_SIM_REPLAY_H
#define MEMORY_SIM_REPLAY_H

#include "memory/reader.h"
#include "memory/select.h"
#include "memory/sim/sim.h"

/* A thread, by the id that the trace has for it, and the core that it is to run on. */
struct replay_place {
	uint64_t id;
	uint32_t core;
};

struct replay {
	/* Given by the caller; all may be 0. */
	struct mem_select *select; /* only those; NULL: all */
	const char *from_mark;     /* from the first mark of this text on */
	const char *to_mark;       /* up to the first of this text after that */
	const struct replay_place *places;
	size_t nr_places;
	/* Each access, and each other record (then without an outcome), in order. */
	int (*each)(void *context, const struct mem_record *rec, const struct sim_outcome *out);
	void *context;

	/* What came of it. */
	uint64_t accesses;       /* simulated, as they are in the trace */
	uint64_t aside;          /* not wanted */
	uint64_t lost, left_out; /* missing in the trace: lost; on purpose */
	bool lost_unknown;       /* and some of unknown number */
	bool sampled;            /* some stand for more than one */
	bool met_from, met_to;
	struct u64map known; /* threads */
};

/* Reads @r to its end.  0, -ENOMEM, or what @each said. */
int replay_run(struct replay *p, struct sim *s, struct mem_reader *r, struct err *err);
void replay_release(struct replay *p);

#endif

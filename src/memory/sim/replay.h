/* SPDX-License-Identifier: MIT */
/*
 * replay.h - run a trace through a simulator.
 *
 * Accesses that are not selected are skipped, as if the program had not made them.  Accesses
 * that are missing in the trace are counted: the simulation of an incomplete trace describes
 * another program.
 */
#ifndef MEMORY_SIM_REPLAY_H
#define MEMORY_SIM_REPLAY_H

#include "memory/format/mem_reader.h"
#include "memory/format/record_filter.h"
#include "memory/sim/replay_sums.h"
#include "memory/sim/sim.h"

/* A thread, by its id in the trace, and the core to run it on. */
struct replay_place {
	uint64_t id;
	uint32_t core;
};

struct replay {
	/* Input; all fields may be 0. */
	struct mem_select *select; /* simulate only these accesses; NULL: all */
	const char *from_mark;     /* start at the first mark with this text */
	const char *to_mark;       /* end at the first mark with this text after that */
	const struct replay_place *places;
	size_t nr_places;
	/* Called in order for each access, and for each other record (then @out is NULL). */
	int (*each)(void *context, const struct mem_record *rec, const struct sim_outcome *out);
	/*
	 * If it is not NULL, called instead of @each for accesses of one thread that only hit the
	 * first level, except with `select`.  @rec has what they have in common.
	 */
	int (*hits)(void *context, struct mem_record *rec, const struct mem_access *access,
		    size_t nr);
	/*
	 * If it is not NULL, called twice before @each for an access that missed, with step 0 and
	 * 1: then the memory that @each will read can be fetched into the processor's cache.
	 */
	void (*fetch)(void *context, uint64_t address, int step);
	void *context;
	/*
	 * @each only adds up: it may get one record, with the sum of their weights, for accesses
	 * that have all fields but the times in common and only hit the first level.  No other
	 * record that @changes how they count is between them.  @alike (may be NULL) says which
	 * addresses it does not tell apart (replay_sums.h).
	 */
	bool sums;
	replay_alike_fn alike;
	replay_changes_fn changes; /* NULL: every record is about all addresses */
	unsigned threads; /* 2: classify misses in a second thread; 0: if there are processors */

	/* Results. */
	uint64_t accesses;       /* simulated; sampled ones count once */
	uint64_t aside;          /* not selected */
	uint64_t lost, left_out; /* missing in the trace: lost; left out on purpose */
	bool lost_unknown;       /* more were lost, their number is unknown */
	bool sampled;            /* some accesses stand for more than one */
	bool met_from, met_to;
	struct u64map known; /* threads that were mapped */
};

/* Reads @r to its end.  Returns 0, -ENOMEM, or the error of @each. */
int replay_run(struct replay *p, struct sim *s, struct mem_reader *r, struct err *err);
void replay_release(struct replay *p);

#endif

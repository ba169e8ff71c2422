/* SPDX-License-Identifier: MIT */
/*
 * replay_sums.h - add up equal accesses that only hit the first level.
 *
 * Most accesses of a program hit, and repeat a recent access: same code, same address.  To count
 * them one by one costs several times the simulation.  The first one is passed on at once, so that
 * the order of first accesses stays; repetitions are added to its *tally*, or passed on as one
 * record with the sum of their weights, at the latest before a record that is not an access and
 * concerns their addresses.
 */
#ifndef MEMORY_SIM_REPLAY_SUMS_H
#define MEMORY_SIM_REPLAY_SUMS_H

#include "memory/sim/sim.h"

typedef int (*replay_each_fn)(void *context, const struct mem_record *rec,
			      const struct sim_outcome *out);

/*
 * Where the weights of accesses that only hit are added.  Its memory stays valid; with another
 * stamp it is for other accesses.
 */
struct replay_tally {
	uint64_t weight_256;
	uint64_t stamp;
	uint64_t *misses;  /* misses of each level, the same for accesses to one line; NULL: none */
	uint64_t *classes; /* those of the first level by class; NULL: not wanted */
};

/*
 * Widen the addresses from *@start to *@end, which are those of @rec, to all that count alike:
 * accesses of the same code, thread, kind and size that begin there.  Called after @each.  Returns
 * their tally; NULL: pass their sum to @each.
 */
typedef struct replay_tally *(*replay_alike_fn)(void *context, const struct mem_record *rec,
						uint64_t *start, uint64_t *end);

/*
 * The addresses whose accesses @rec, which is not an access, makes count differently from now on;
 * for ranges of @alike, all of them.  False: all addresses.
 */
typedef bool (*replay_changes_fn)(void *context, const struct mem_record *rec, uint64_t *start,
				  uint64_t *end);

struct replay_sums;

/* Keeps @config.  @alike may be NULL.  NULL: no memory. */
struct replay_sums *replay_sums_new(const struct sim_config *config, replay_each_fn each,
				    replay_alike_fn alike, void *context);

/*
 * Count @nr accesses; the fields that they have in common are in @rec, the others are overwritten.
 * Returns 0 or the error of @each.
 */
int replay_sums_add(struct replay_sums *p, struct mem_record *rec, const struct mem_access *access,
		    size_t nr);

/*
 * Add those of @nr misses to the tally of their sum that it takes, and remove them from @list.
 * They remain accesses: give them to replay_sums_add() as if they had hit.  Returns how many are
 * left in the list.
 */
size_t replay_sums_take(struct replay_sums *p, const struct mem_record *rec,
			const struct mem_access *access, struct sim_missed *list, size_t nr);

/*
 * An access that is left missed, and was passed on as @rec: begin a sum if it is for several
 * addresses.  Returns 0 or the error of @each.
 */
int replay_sums_missed(struct replay_sums *p, const struct mem_record *rec,
		       const struct mem_access *a);

/* Pass everything on.  Returns 0 or the error of @each. */
int replay_sums_flush(struct replay_sums *p);

/*
 * Pass the accesses to addresses from @start to @end on, and possibly others.  A sum of accesses
 * that count alike is found if its lowest address is among them.
 */
int replay_sums_flush_range(struct replay_sums *p, uint64_t start, uint64_t end);

/* Accepts NULL. */
void replay_sums_free(struct replay_sums *p);

#endif

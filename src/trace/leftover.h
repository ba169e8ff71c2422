/* SPDX-License-Identifier: MIT */
/*
 * leftover.h - coroutines that had not ended at the end of the run, grouped by state and site.
 *
 * A bug usually leaves many coroutines at one line: a group shows them once.  Memory is bounded
 * for any trace: at most LEFTOVER_GROUPS groups, with at most LEFTOVER_RESOURCES resources and
 * LEFTOVER_NAMES names each; coroutines beyond these limits are counted.
 */
#ifndef TRACE_LEFTOVER_H
#define TRACE_LEFTOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"

#define LEFTOVER_GROUPS    4096
#define LEFTOVER_RESOURCES 64
#define LEFTOVER_NAMES     3

/* The last known state of a coroutine. */
struct summary_last {
	uint64_t ts; /* 0: the trace has no event of it */
	uint64_t addr;
	uint64_t resource;
	uint32_t site;
	uint32_t name;  /* from its birth: 1 + the number in the names of the summary; 0: none */
	uint8_t state;  /* enum trace_state */
	uint8_t reason; /* enum trace_reason */
	bool has_resource;
	uint32_t birth_site; /* 0: unknown */
};

/*
 * A coroutine that is not running sorts before a running one; of two alike, the older state
 * first.
 */
bool summary_is_more_stuck(const struct summary_last *a, const struct summary_last *b);

/* Coroutines in one state, for one reason, at one site. */
struct leftover_group {
	uint64_t nr;
	uint64_t place; /* 1 + its number; 0: not reported, then last.addr identifies it */
	struct summary_last last; /* of the coroutine that is most stuck */
	uint64_t probe_id;        /* of the same coroutine */
	uint64_t newest_ts;       /* begin of the state of the least stuck coroutine */
	unsigned nr_resources;    /* distinct resources they wait on: the lowest ones, ascending */
	bool has_more_resources;  /* the group has more resources than stored */
	uint64_t resources[LEFTOVER_RESOURCES];
	unsigned nr_names; /* names of the first coroutines that have one */
	char *names[LEFTOVER_NAMES];
};

/* All zero is empty. */
struct leftovers {
	struct leftover_group *groups;
	size_t nr, room;
	struct u64map by_key;
	uint64_t nr_elsewhere; /* coroutines beyond LEFTOVER_GROUPS groups */
};

/*
 * @place: 1 + the number of the source location of last->site; 0: not reported.  Returns 0 or
 * -ENOMEM.
 */
int leftovers_add(struct leftovers *l, uint64_t probe_id, const char *name,
		  const struct summary_last *last, uint64_t place);

/*
 * Stores the indexes in @l->groups of the @max largest groups, largest first.  Returns their
 * number.
 */
size_t leftovers_top(const struct leftovers *l, size_t *numbers, size_t max);

void leftovers_release(struct leftovers *l);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * leftover.h - coroutines that had not ended when the run did, by what they do and where.
 *
 * A bug leaves not one behind but fifty, all at one line: a group each is what one wants
 * to see.  Memory is bounded, whatever the trace holds: so many groups, so many resources
 * and names in each; what is beyond is counted.
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

/* What a coroutine did last. */
struct summary_last {
	uint64_t ts; /* 0: nothing that the trace knows of */
	uint64_t addr;
	uint64_t resource;
	uint32_t site;
	uint32_t name;  /* as its birth told it: 1 + the number in the summary's names; 0: none */
	uint8_t state;  /* enum trace_state */
	uint8_t reason; /* enum trace_reason */
	bool has_resource;
	bool has_ended; /* it was said to: what comes of it now is its destruction */
};

/* Who is suspended, and has been so for longest, is who one looks for. */
bool summary_is_more_stuck(const struct summary_last *a, const struct summary_last *b);

/* Coroutines in one state, for one reason, at one place. */
struct leftover_group {
	uint64_t nr;
	uint64_t place;           /* 1 + its number; 0: not told, then last.addr is one */
	struct summary_last last; /* of the one that is most stuck */
	uint64_t probe_id;        /* likewise */
	uint64_t newest_ts;       /* since when the least stuck one is */
	unsigned nr_resources;    /* what they wait on: each once, the lowest, in order */
	bool has_more_resources;  /* than these */
	uint64_t resources[LEFTOVER_RESOURCES];
	unsigned nr_names; /* of the first who have one */
	char *names[LEFTOVER_NAMES];
};

/* All zero is none. */
struct leftovers {
	struct leftover_group *groups;
	size_t nr, room;
	struct u64map by_key;
	uint64_t nr_elsewhere; /* coroutines of groups that were too many */
};

/* @place: 1 + the number of last->site's place, 0 if nobody told.  0 or -ENOMEM. */
int leftovers_add(struct leftovers *l, uint64_t probe_id, const char *name,
		  const struct summary_last *last, uint64_t place);

/* The @max largest groups, largest first, as numbers in @l->groups.  Returns how many. */
size_t leftovers_top(const struct leftovers *l, size_t *numbers, size_t max);

void leftovers_release(struct leftovers *l);

#endif

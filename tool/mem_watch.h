/* SPDX-License-Identifier: MIT */
/* mem_watch.h - the callbacks of replay.h with which a command attributes misses (blame.h). */
#ifndef TOOL_MEM_WATCH_H
#define TOOL_MEM_WATCH_H

#include "memory/blame/blame.h"

/* The context of the callbacks; a command may put it first in a larger one. */
struct mem_watch {
	struct blame *blame;
	const struct mem_facts *facts;
};

int mem_watch_each(void *watch, const struct mem_record *r, const struct sim_outcome *out);

void mem_watch_fetch(void *watch, uint64_t address, int step);

struct replay_tally *mem_watch_alike(void *watch, const struct mem_record *r, uint64_t *start,
				     uint64_t *end);

/* The same for a command whose own callback needs the sums, too. */
struct replay_tally *mem_watch_alike_passed(void *watch, const struct mem_record *r,
					    uint64_t *start, uint64_t *end);

bool mem_watch_changes(void *watch, const struct mem_record *r, uint64_t *start, uint64_t *end);

#endif

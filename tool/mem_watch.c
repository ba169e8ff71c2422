/* SPDX-License-Identifier: MIT */
/* mem_watch.c - the callbacks of replay.h with which a command attributes misses (blame.h). */
#include "mem_watch.h"

#include <errno.h>

int mem_watch_each(void *watch, const struct mem_record *r, const struct sim_outcome *out)
{
	const struct mem_watch *w = watch;

	if (blame_modules(w->blame, w->facts) < 0)
		return -ENOMEM;
	return out ? blame_access(w->blame, r, out) : blame_record(w->blame, r);
}

void mem_watch_fetch(void *watch, uint64_t address, int step)
{
	const struct mem_watch *w = watch;

	blame_fetch(w->blame, address, step);
}

struct replay_tally *mem_watch_alike(void *watch, const struct mem_record *r, uint64_t *start,
				     uint64_t *end)
{
	const struct mem_watch *w = watch;

	return blame_alike(w->blame, r, start, end);
}

struct replay_tally *mem_watch_alike_passed(void *watch, const struct mem_record *r,
					    uint64_t *start, uint64_t *end)
{
	mem_watch_alike(watch, r, start, end);
	return NULL;
}

bool mem_watch_changes(void *watch, const struct mem_record *r, uint64_t *start, uint64_t *end)
{
	const struct mem_watch *w = watch;

	return blame_changes_range(w->blame, r, start, end);
}

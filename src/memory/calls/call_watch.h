/* SPDX-License-Identifier: MIT */
/*
 * call_watch.h - follow a simulated trace: its modules, the calls of its threads, its accesses.
 *
 *	struct call_watch w;
 *
 *	call_watch_begin(&w, config, facts, &err);
 *	replay.each = call_watch_each;          with &w as its context
 *	replay_run(&replay, sim, reader, &err);
 *	profile = call_watch_profile(&w, &err);
 *	...
 *	call_watch_end(&w);
 */
#ifndef MEMORY_CALLS_CALL_WATCH_H
#define MEMORY_CALLS_CALL_WATCH_H

#include "base/err.h"
#include "memory/calls/call_profile.h"
#include "memory/format/mem_facts.h"

struct call_watch {
	const struct mem_facts *facts;
	struct call_tree *tree;
	struct symbols *symbols;
	struct call_profile *profile; /* NULL: not yet made */
	size_t nr_modules;            /* that are in symbols */
};

/* 0 or -ENOMEM; call_watch_end() is safe after both. */
int call_watch_begin(struct call_watch *w, const struct sim_config *config,
		     const struct mem_facts *facts, struct err *err);

/* One record; @out NULL: it is not an access.  0 or -ENOMEM. */
int call_watch_each(void *watch, const struct mem_record *r, const struct sim_outcome *out);

/* For replay_sums.h: the calls do not tell addresses apart. */
struct replay_tally *call_watch_alike(void *watch, const struct mem_record *r, uint64_t *start,
				      uint64_t *end);

/* What was recorded so far; the watch owns it.  NULL: no memory. */
const struct call_profile *call_watch_profile(struct call_watch *w, struct err *err);

/* A sentence on symbols that could not be read; NULL: none. */
const char *call_watch_problem(const struct call_watch *w);

void call_watch_end(struct call_watch *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * waiting_facts.h - coroutines that existed before the program was attached, and where they wait.
 *
 * Those that have not moved have no event: the model does not know them, and no detector judges
 * them.  The report lists them.
 */
#ifndef ANALYZE_WAITING_FACTS_H
#define ANALYZE_WAITING_FACTS_H

#include <stddef.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "trace/item.h"

/* All zero: none.  Strings are copies. */
struct waiting_facts {
	struct trace_waiting *at; /* in the order of the trace: faults first, then the largest */
	size_t nr, room;
	char *missing; /* what is not known, and why; NULL: nothing */
};

/* 0 or -ENOMEM.  Facts about coroutines that have all moved are left out. */
int waiting_facts_add(struct waiting_facts *w, const struct trace_waiting *fact);

/* The number of coroutines that have not moved, or (@is_checked false) of which it is unknown. */
uint64_t waiting_facts_count(const struct waiting_facts *w, bool is_checked);

/* A few lines of text, at most @most stacks (0: all). */
void waiting_facts_print(const struct waiting_facts *w, FILE *out, size_t most);

/* Into an array that is open in @j. */
void waiting_facts_put(const struct waiting_facts *w, struct json_writer *j);

void waiting_facts_release(struct waiting_facts *w);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * callgrind_file.h - a profile in the format of callgrind, for KCachegrind and callgrind_annotate.
 *
 * Events: the estimated cost, reads and writes, and the misses of reads and writes by level, with
 * the names that cachegrind gives them (D1mr, DLmw).
 */
#ifndef MEMORY_CALLS_CALLGRIND_FILE_H
#define MEMORY_CALLS_CALLGRIND_FILE_H

#include <stdio.h>

#include "memory/calls/call_profile.h"
#include "memory/format/mem_facts.h"

struct callgrind_head {
	const char *trace, *machine;
	const struct mem_facts *facts;
	const struct sim_config *config;
};

/* 0 or a negative errno. */
int callgrind_write(const struct call_profile *p, const struct callgrind_head *head, FILE *out);

#endif

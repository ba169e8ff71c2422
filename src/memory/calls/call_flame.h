/* SPDX-License-Identifier: MIT */
/*
 * call_flame.h - the frames of a profile by function alone: what a flame graph shows, and the
 * folded text that flame graph programs read.
 */
#ifndef MEMORY_CALLS_CALL_FLAME_H
#define MEMORY_CALLS_CALL_FLAME_H

#include <stdio.h>

#include "memory/calls/call_profile.h"

/* What the width of a frame is. */
enum call_measure {
	CALL_MEASURE_COST,
	CALL_MEASURE_ACCESSES,
	CALL_MEASURE_READS,
	CALL_MEASURE_WRITES,
	CALL_MEASURE_LEVEL, /* plus the number of the level: its misses */
};

struct call_flame {
	const struct call_profile *profile;
	struct profile_frame
		*frames; /* the first is the root; a parent is in front of its children */
	uint32_t nr;
};

/* 0 or -ENOMEM; call_flame_release() is safe after both. */
int call_flame_make(struct call_flame *f, const struct call_profile *p);
void call_flame_release(struct call_flame *f);

uint64_t call_flame_measure(const struct call_flame *f, const struct call_counts *c,
			    unsigned measure);

/*
 * Write "main;parse;read_token 1234", a line per stack, outermost function first.  Stacks whose
 * measure is 0 are left out.  Returns 0 or a negative errno.
 */
int call_flame_write(const struct call_flame *f, unsigned measure, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * salvage.h - what a program that traced itself had not yet written when it was killed.
 *
 * Its rings are a file on tmpfs, named after the trace (memory-rt/alone.c).  The trace is
 * written anew: what it has, then what the rings still hold, then an end.
 */
#ifndef MEMORY_SALVAGE_H
#define MEMORY_SALVAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct salvage {
	uint64_t accesses;  /* in the trace now */
	uint64_t recovered; /* of these, from the rings */
	uint32_t threads;   /* that had something there */
};

/* 0; -ENOENT: there is nothing to recover (said in @err, too); another negative errno. */
int salvage_trace(const char *path, struct salvage *out, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * miss_rows.h - the misses of one trace as rows that those of another trace can be compared with:
 * by type, field, allocation site and function.
 *
 * A row is known by names, not by addresses or line numbers: those change with every build.
 */
#ifndef MEMORY_DIFF_MISS_ROWS_H
#define MEMORY_DIFF_MISS_ROWS_H

#include "base/strtab.h"
#include "memory/blame/blame.h"
#include "memory/calls/call_profile.h"

enum miss_kind {
	MISS_TYPE, /* a type, a variable or a kind of memory */
	MISS_FIELD,
	MISS_SITE, /* blocks of the heap that one function allocated */
	MISS_FUNCTION,
};
#define MISS_KINDS 4

struct miss_row {
	enum miss_kind kind;
	const char *name; /* of the type or function; site: the function that allocated */
	const char *part; /* field; file of a function or site; "": none */
	uint64_t accesses, cost;
	uint64_t misses[SIM_LEVELS_MAX];
	uint64_t size; /* of a type; 0: unknown */
};

struct miss_rows {
	uint32_t nr_levels;
	struct miss_row total; /* without a name */
	struct miss_row *rows;
	size_t nr, room;
	struct strtab texts;
	struct u64map by_key; /* number of a text to 1 + its row */
};

/* 0 or -ENOMEM; miss_rows_release() is safe after both. */
int miss_rows_make(struct miss_rows *m, struct blame *blame, const struct call_profile *profile);

/* The row of the same kind and names; NULL: none. */
const struct miss_row *miss_rows_find(const struct miss_rows *m, const struct miss_row *like);

void miss_rows_release(struct miss_rows *m);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * miss_compare.h - what changed between the misses of two traces.
 *
 * A change counts if it reaches both limits: a share of the row's own cost, and a share of the cost
 * of the whole base trace.  Then small rows, whose misses vary from run to run, stay quiet.
 */
#ifndef MEMORY_DIFF_MISS_COMPARE_H
#define MEMORY_DIFF_MISS_COMPARE_H

#include "memory/diff/miss_rows.h"

enum miss_verdict {
	MISS_SAME,
	MISS_WORSE,
	MISS_BETTER,
	MISS_NEW,  /* only in the head: no regression of its own, but part of the total */
	MISS_GONE, /* only in the base */
};

/* In 1/1000 of a percent. */
struct miss_limits {
	uint64_t of_row;   /* of the cost of a row */
	uint64_t of_total; /* of the cost of the base */
	unsigned kinds;    /* bit per enum miss_kind */
};

#define MISS_PERCENT 1000u

struct miss_change {
	enum miss_verdict verdict;
	const struct miss_row *base, *head; /* NULL: none */
};

struct miss_comparison {
	struct miss_limits limits;
	struct miss_change total;
	struct miss_change *changes; /* by verdict, then the largest change first; none is "same" */
	size_t nr;
	size_t by_verdict[MISS_GONE + 1];
};

/* @base and @head must stay.  0 or -ENOMEM; miss_comparison_release() is safe after both. */
int miss_comparison_make(struct miss_comparison *c, const struct miss_rows *base,
			 const struct miss_rows *head, const struct miss_limits *limits);

/* True if the total or a row that both traces have is worse. */
bool miss_comparison_regressed(const struct miss_comparison *c);

const char *miss_verdict_name(enum miss_verdict verdict);
const char *miss_kind_name(enum miss_kind kind);

void miss_comparison_release(struct miss_comparison *c);

#endif

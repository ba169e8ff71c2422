/* SPDX-License-Identifier: MIT */
/*
 * blame_memo.h - internal to blame/: accesses that count as an earlier access of the same code did.
 *
 * To find the owner and field of an access takes several searches, and its counts go to six tables.
 * A *memo* keeps what was found for an access to a single field, and adds further accesses up: to
 * the same address, or to blocks of the heap of the same call stack and size, at the same offset.
 * The sums are added to the tables by blame_memos_settle(), before a record that could change the
 * result, and before the tables are read.
 */
#ifndef MEMORY_BLAME_BLAME_MEMO_H
#define MEMORY_BLAME_BLAME_MEMO_H

#include "memory/blame/blame.h"

struct blame_memos;

/* NULL: no memory. */
struct blame_memos *blame_memos_new(void);

/* Count an access.  False: nothing is known of it, and it is not counted. */
bool blame_memos_count(struct blame *b, const struct mem_record *r, const struct sim_outcome *out);

/* What one access, which was to a single field, has found.  NULL: no such counts. */
struct blame_found {
	const struct address_owner *place;
	struct blame_owner *owner;
	struct blame_field *field;
	struct blame_counts *line, *heap;
	struct blame_site *site;
};

/* Keep what the access @r has found, which is counted already. */
void blame_memos_keep(struct blame *b, const struct mem_record *r, const struct blame_found *found);

/* Before a record that is not an access. */
void blame_memos_record(struct blame *b, const struct mem_record *r);

/* Add all sums to the tables, and forget everything. */
void blame_memos_settle(struct blame *b);

/* Accepts NULL. */
void blame_memos_free(struct blame_memos *m);

#endif

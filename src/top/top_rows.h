/* SPDX-License-Identifier: MIT */
/* top_rows.h - select and sort the coroutines of a picture. */
#ifndef TOP_TOP_ROWS_H
#define TOP_TOP_ROWS_H

#include "top/top_snapshot.h"
#include "top/top_site.h"

enum top_sort {
	TOP_BY_AGE, /* waiting coroutines first, longest wait first */
	TOP_BY_RATE,
	TOP_BY_ID,
	TOP_BY_NAME,
	TOP_BY_SITE,
	TOP_BY_THREAD,
	TOP_BY_EVENTS,
	NR_TOP_SORTS,
};

#define TOP_FILTER_SIZE 128

struct top_choice {
	enum top_sort sort;
	bool reverse;
	bool hidden[NR_TRACE_STATES];
	char filter[TOP_FILTER_SIZE]; /* part of the name or the place, case-insensitive */
};

struct top_shown {
	uint64_t key;
	uint32_t row;    /* index in the picture */
	uint16_t depth;  /* in a tree */
	bool is_awaited; /* in a tree: the one above waits for its end */
};

/* All zero: empty. */
struct top_rows {
	struct top_shown *at;
	size_t nr, room;
};

/* 0 or -ENOMEM. */
int top_rows_make(struct top_rows *rows, const struct top_picture *p, struct top_places *places,
		  const struct top_choice *choice);
void top_rows_release(struct top_rows *rows);

/*
 * Puts each row below the coroutine that waits for its end, or that created it, in the order of the
 * rows.  0 or -ENOMEM: the rows are unchanged.
 */
int top_rows_tree(struct top_rows *rows, const struct top_picture *p);

/* NULL: not in the picture. */
const struct top_row *top_row_of(const struct top_picture *p, uint64_t id);

/* "age"; and the reverse: NR_TOP_SORTS for an unknown name. */
const char *top_sort_name(enum top_sort sort);
enum top_sort top_sort_from_name(const char *name);

/* Where the coroutine waits, or waited last. */
const char *top_row_place(const struct top_row *row, const struct top_picture *p,
			  struct top_places *places);

/* Time in its state; 0: unknown. */
uint64_t top_row_age(const struct top_row *row, const struct top_picture *p);

#endif

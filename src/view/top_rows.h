/* SPDX-License-Identifier: MIT */
/* top_rows.h - which coroutines of a picture are shown, and in which order. */
#ifndef VIEW_TOP_ROWS_H
#define VIEW_TOP_ROWS_H

#include "view/top_picture.h"
#include "view/top_place.h"

enum top_sort {
	TOP_BY_AGE, /* who waits comes first, the longest first */
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
	char filter[TOP_FILTER_SIZE]; /* a part of the name or the place, whatever the case */
};

struct top_shown {
	uint64_t key;
	uint32_t row; /* in the picture */
};

/* All zero is none. */
struct top_rows {
	struct top_shown *at;
	size_t nr, room;
};

/* 0 or -ENOMEM. */
int top_rows_make(struct top_rows *rows, const struct top_picture *p, struct top_places *places,
		  const struct top_choice *choice);
void top_rows_release(struct top_rows *rows);

/* "age"; and back: NR_TOP_SORTS for what is none. */
const char *top_sort_name(enum top_sort sort);
enum top_sort top_sort_from_name(const char *name);

/* Where the coroutine waits, or waited last. */
const char *top_row_place(const struct top_row *row, const struct top_picture *p,
			  struct top_places *places);

/* How long it has been in its state; 0: not known. */
uint64_t top_row_age(const struct top_row *row, const struct top_picture *p);

#endif

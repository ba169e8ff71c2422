/* SPDX-License-Identifier: MIT */
/* switch_order.c - put records of context switches in order of time. */
#include "collect/switch_order.h"

#include <string.h>

/* True if @b belongs before @a, which is before it in the list. */
static bool record_is_before(const struct switch_record *b, const struct switch_record *a)
{
	/* What a loss hides lies before it. */
	if (a->ts == b->ts)
		return a->kind == SWITCH_LOST && b->kind != SWITCH_LOST;
	return b->ts < a->ts;
}

/* The end of the ordered run that begins at @at. */
static size_t order_run_end(const struct switch_record *list, size_t at, size_t nr)
{
	do {
		at++;
	} while (at < nr && !record_is_before(&list[at], &list[at - 1]));
	return at < nr ? at : nr;
}

/* Merge the runs from @from to @middle and from there to @to. */
static void order_merge(struct switch_record *list, size_t from, size_t middle, size_t to,
			struct switch_record *room)
{
	size_t a = 0, nr = middle - from, b = middle, out = from;

	memcpy(room, list + from, nr * sizeof(*room));
	while (a < nr) {
		if (b < to && record_is_before(&list[b], &room[a]))
			list[out++] = list[b++];
		else
			list[out++] = room[a++];
	}
}

void switch_order_sort(struct switch_record *list, size_t nr, struct switch_record *room)
{
	size_t at, middle, to;

	/* Each pass halves the number of runs. */
	while (nr && order_run_end(list, 0, nr) < nr) {
		for (at = 0; at < nr; at = to) {
			middle = order_run_end(list, at, nr);
			to = middle < nr ? order_run_end(list, middle, nr) : nr;
			if (middle < nr)
				order_merge(list, at, middle, to, room);
		}
	}
}

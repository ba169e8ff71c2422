/* SPDX-License-Identifier: MIT */
/* top_rows.c - select and sort the coroutines of a picture. */
#include "top/top_rows.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	[TOP_BY_AGE] = "age",       [TOP_BY_RATE] = "rate", [TOP_BY_ID] = "id",
	[TOP_BY_NAME] = "name",     [TOP_BY_SITE] = "site", [TOP_BY_THREAD] = "thread",
	[TOP_BY_EVENTS] = "events",
};

const char *top_sort_name(enum top_sort sort)
{
	return names[sort];
}

enum top_sort top_sort_from_name(const char *name)
{
	unsigned i;

	for (i = 0; i < NR_TOP_SORTS && strcmp(names[i], name) != 0; i++)
		;
	return (enum top_sort)i;
}

const char *top_row_place(const struct top_row *row, const struct top_picture *p,
			  struct top_places *places)
{
	const struct sidecar_coroutine *co = &row->c->co;

	return top_place(places, &p->r, (uint32_t)co->pid, co->site, co->addr);
}

uint64_t top_row_age(const struct top_row *row, const struct top_picture *p)
{
	uint64_t since = row->state == TRACE_STATE_READY ? row->c->woken_ts : row->c->co.since_ts;

	return since && since < p->moment ? p->moment - since : 0;
}

/* ---- order -------------------------------------------------------------------- */

struct sorting {
	const struct top_picture *p;
	struct top_places *places;
	const struct top_choice *choice;
};

/* Waiting coroutines are most interesting, ended ones least. */
static uint64_t top_rank(uint8_t state)
{
	static const uint8_t ranks[NR_TRACE_STATES] = {
		[TRACE_STATE_SUSPENDED] = 0, [TRACE_STATE_READY] = 1, [TRACE_STATE_NEW] = 2,
		[TRACE_STATE_RUNNING] = 3,   [TRACE_STATE_ENDED] = 4, [TRACE_STATE_UNKNOWN] = 5,
	};

	return ranks[state];
}

/* The first bytes of a text as a number with the same order; an empty text sorts last. */
static uint64_t top_prefix(const char *text)
{
	uint64_t word = 0;

	if (!*text)
		return UINT64_MAX;
	memcpy(&word, text, strnlen(text, sizeof(word)));
	return be64toh(word);
}

/* The smallest key is shown first. */
static uint64_t top_key_of(const struct sorting *s, const struct top_row *row)
{
	const struct recover_coroutine *c = row->c;

	switch (s->choice->sort) {
	case TOP_BY_AGE:
		return top_rank(row->state) << 60 |
		       ((UINT64_MAX >> 4) - (top_row_age(row, s->p) >> 4));
	case TOP_BY_RATE:
		return UINT64_MAX - (uint64_t)(row->rate * 1000);
	case TOP_BY_NAME:
		return top_prefix(c->name);
	case TOP_BY_SITE:
		return top_prefix(top_row_place(row, s->p, s->places));
	case TOP_BY_THREAD:
		return c->tid ? c->tid : UINT64_MAX;
	case TOP_BY_EVENTS:
		return UINT64_MAX - c->co.written;
	case TOP_BY_ID:
	case NR_TOP_SORTS:
		break;
	}
	return c->co.probe_id;
}

static int compare_texts(const struct sorting *s, const struct top_row *x, const struct top_row *y)
{
	if (s->choice->sort == TOP_BY_NAME)
		return strcmp(x->c->name, y->c->name);
	if (s->choice->sort == TOP_BY_SITE)
		return strcmp(top_row_place(x, s->p, s->places), top_row_place(y, s->p, s->places));
	return 0;
}

static int top_compare(const void *a, const void *b, void *arg)
{
	const struct top_shown *x = a, *y = b;
	const struct sorting *s = arg;
	const struct top_row *p = &s->p->rows[x->row], *q = &s->p->rows[y->row];
	int order = x->key < y->key ? -1 : x->key > y->key;

	if (!order)
		order = compare_texts(s, p, q);
	/* A total order: rows must not change places between pictures. */
	if (!order)
		order = p->c->co.probe_id < q->c->co.probe_id
				? -1
				: p->c->co.probe_id > q->c->co.probe_id;
	return s->choice->reverse ? -order : order;
}

/* ---- choice ------------------------------------------------------------------- */

static bool is_shown(const struct sorting *s, const struct top_row *row)
{
	const char *part = s->choice->filter;

	if (s->choice->hidden[row->state])
		return false;
	return !*part || strcasestr(row->c->name, part) ||
	       strcasestr(top_row_place(row, s->p, s->places), part);
}

int top_rows_make(struct top_rows *rows, const struct top_picture *p, struct top_places *places,
		  const struct top_choice *choice)
{
	struct sorting s = { p, places, choice };
	size_t i;

	rows->nr = 0;
	if (p->nr > rows->room) {
		struct top_shown *more = reallocarray(rows->at, p->nr, sizeof(*more));

		if (!more)
			return -ENOMEM;
		rows->at = more;
		rows->room = p->nr;
	}
	for (i = 0; i < p->nr; i++) {
		if (is_shown(&s, &p->rows[i]))
			rows->at[rows->nr++] = (struct top_shown){
				.key = top_key_of(&s, &p->rows[i]), .row = (uint32_t)i
			};
	}
	if (rows->nr)
		qsort_r(rows->at, rows->nr, sizeof(*rows->at), top_compare, &s);
	return 0;
}

const struct top_row *top_row_of(const struct top_picture *p, uint64_t id)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		if (p->rows[i].c->co.probe_id == id)
			return &p->rows[i];
	}
	return NULL;
}

void top_rows_release(struct top_rows *rows)
{
	free(rows->at);
	memset(rows, 0, sizeof(*rows));
}

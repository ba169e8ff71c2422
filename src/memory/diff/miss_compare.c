/* SPDX-License-Identifier: MIT */
/* miss_compare.c - what changed between the misses of two traces. */
#include "memory/diff/miss_compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static double miss_difference(const struct miss_change *c)
{
	return (c->head ? (double)c->head->cost : 0) - (c->base ? (double)c->base->cost : 0);
}

static enum miss_verdict miss_judge(const struct miss_comparison *c, const struct miss_change *x,
				    double total)
{
	double change = miss_difference(x), size = change < 0 ? -change : change;
	double base = x->base ? (double)x->base->cost : 0;

	size *= 100 * MISS_PERCENT;
	if (size == 0 || size < (double)c->limits.of_total * total ||
	    (x->base && size < (double)c->limits.of_row * base))
		return MISS_SAME;
	if (!x->base)
		return MISS_NEW;
	if (!x->head)
		return MISS_GONE;
	return change > 0 ? MISS_WORSE : MISS_BETTER;
}

static void miss_add_change(struct miss_comparison *c, const struct miss_row *base,
			    const struct miss_row *head, double total)
{
	struct miss_change change = { .base = base, .head = head };

	if (!(c->limits.kinds >> (base ? base : head)->kind & 1))
		return;
	change.verdict = miss_judge(c, &change, total);
	if (change.verdict != MISS_SAME)
		c->changes[c->nr++] = change;
	c->by_verdict[change.verdict]++;
}

static int miss_changes_compare(const void *a, const void *b)
{
	const struct miss_change *x = a, *y = b;
	const struct miss_row *rx = x->base ? x->base : x->head, *ry = y->base ? y->base : y->head;
	double dx = miss_difference(x), dy = miss_difference(y);

	if (x->verdict != y->verdict)
		return x->verdict < y->verdict ? -1 : 1;
	dx = dx < 0 ? -dx : dx;
	dy = dy < 0 ? -dy : dy;
	if (dx != dy)
		return dx < dy ? 1 : -1;
	if (rx->kind != ry->kind)
		return rx->kind < ry->kind ? -1 : 1;
	return strcmp(rx->name, ry->name);
}

int miss_comparison_make(struct miss_comparison *c, const struct miss_rows *base,
			 const struct miss_rows *head, const struct miss_limits *limits)
{
	double total = (double)base->total.cost;
	size_t i;

	*c = (struct miss_comparison){ .limits = *limits,
				       .total = { .base = &base->total, .head = &head->total } };
	c->changes = calloc(base->nr + head->nr + 1, sizeof(*c->changes));
	if (!c->changes)
		return -ENOMEM;
	c->total.verdict = miss_judge(c, &c->total, 0);
	for (i = 0; i < base->nr; i++)
		miss_add_change(c, &base->rows[i], miss_rows_find(head, &base->rows[i]), total);
	for (i = 0; i < head->nr; i++) {
		if (!miss_rows_find(base, &head->rows[i]))
			miss_add_change(c, NULL, &head->rows[i], total);
	}
	qsort(c->changes, c->nr, sizeof(*c->changes), miss_changes_compare);
	return 0;
}

bool miss_comparison_regressed(const struct miss_comparison *c)
{
	return c->total.verdict == MISS_WORSE || c->by_verdict[MISS_WORSE];
}

const char *miss_verdict_name(enum miss_verdict verdict)
{
	static const char *const names[] = { "same", "worse", "better", "new", "gone" };

	return names[verdict];
}

const char *miss_kind_name(enum miss_kind kind)
{
	static const char *const names[] = { "type", "field", "site", "function" };

	return names[kind];
}

void miss_comparison_release(struct miss_comparison *c)
{
	free(c->changes);
	c->changes = NULL;
	c->nr = 0;
}

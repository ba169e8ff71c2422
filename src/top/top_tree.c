/* SPDX-License-Identifier: MIT */
/* top_tree.c - put rows below the coroutines that await or created them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "top/top_rows.h"

#define TREE_NONE UINT32_MAX

/* Relations of the shown rows, by their index in struct top_rows. */
struct tree {
	struct top_rows *rows;
	const struct top_picture *p;
	struct u64map of_id; /* id to 1 + index */
	uint32_t *above, *first, *next, *last;
	bool *is_awaited, *is_placed;
	struct top_shown *out;
	size_t nr_out;
};

static const struct sidecar_coroutine *tree_coroutine(const struct tree *t, size_t i)
{
	return &t->p->rows[t->rows->at[i].row].c->co;
}

static bool tree_allocate(struct tree *t)
{
	size_t nr = t->rows->nr, i;

	t->above = calloc(4 * nr + 4, sizeof(*t->above));
	t->is_awaited = calloc(2 * nr + 2, sizeof(*t->is_awaited));
	t->out = calloc(nr + 1, sizeof(*t->out));
	if (!t->above || !t->is_awaited || !t->out)
		return false;
	t->first = t->above + nr;
	t->next = t->first + nr;
	t->last = t->next + nr;
	t->is_placed = t->is_awaited + nr;
	memset(t->above, 0xff, 4 * nr * sizeof(*t->above));
	for (i = 0; i < nr; i++) {
		if (u64map_put(&t->of_id, tree_coroutine(t, i)->probe_id, i + 1) < 0)
			return false;
	}
	return true;
}

static void tree_link(struct tree *t, uint32_t i)
{
	uint32_t above = t->above[i];

	if (t->first[above] == TREE_NONE)
		t->first[above] = i;
	else
		t->next[t->last[above]] = i;
	t->last[above] = i;
}

/* A join is stronger than a creation. */
static void tree_relate(struct tree *t)
{
	size_t i;
	uint64_t other;

	for (i = 0; i < t->rows->nr; i++) {
		const struct sidecar_coroutine *co = tree_coroutine(t, i);

		if (co->state == TRACE_STATE_SUSPENDED && co->reason == TRACE_REASON_JOIN &&
		    co->has_resource && u64map_get(&t->of_id, co->resource, &other) &&
		    other != i + 1) {
			t->above[other - 1] = (uint32_t)i;
			t->is_awaited[other - 1] = true;
		}
	}
	for (i = 0; i < t->rows->nr; i++) {
		const struct sidecar_coroutine *co = tree_coroutine(t, i);

		if (t->above[i] == TREE_NONE && co->parent &&
		    u64map_get(&t->of_id, co->parent, &other) && other != i + 1)
			t->above[i] = (uint32_t)other - 1;
		if (t->above[i] != TREE_NONE)
			tree_link(t, (uint32_t)i);
	}
}

/* Without recursion: a chain of awaits may be as long as there are coroutines. */
static void tree_place(struct tree *t, uint32_t root)
{
	uint32_t at = root, depth = 0;

	for (;;) {
		if (!t->is_placed[at]) {
			struct top_shown shown = t->rows->at[at];

			shown.depth = depth < UINT16_MAX ? (uint16_t)depth : UINT16_MAX;
			shown.is_awaited = t->is_awaited[at];
			t->out[t->nr_out++] = shown;
			t->is_placed[at] = true;
			if (t->first[at] != TREE_NONE && !t->is_placed[t->first[at]]) {
				at = t->first[at];
				depth++;
				continue;
			}
		}
		while (at != root && (t->next[at] == TREE_NONE || t->is_placed[t->next[at]])) {
			at = t->above[at];
			depth--;
		}
		if (at == root)
			return;
		at = t->next[at];
	}
}

int top_rows_tree(struct top_rows *rows, const struct top_picture *p)
{
	struct tree t = { .rows = rows, .p = p };
	bool good = rows->nr == 0 || tree_allocate(&t);
	uint32_t i;

	if (good && rows->nr) {
		tree_relate(&t);
		for (i = 0; i < rows->nr; i++) {
			if (t.above[i] == TREE_NONE)
				tree_place(&t, i);
		}
		for (i = 0; i < rows->nr; i++) { /* rings have no root */
			if (!t.is_placed[i])
				tree_place(&t, i);
		}
		memcpy(rows->at, t.out, t.nr_out * sizeof(*t.out));
	}
	free(t.above);
	free(t.is_awaited);
	free(t.out);
	u64map_release(&t.of_id);
	return good ? 0 : -ENOMEM;
}

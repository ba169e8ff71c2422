/* SPDX-License-Identifier: MIT */
/*
 * grouped_rows.c - the rows of a scan, group by group, for GROUP BY.
 *
 * The scan is read to its end.  Each group keeps the values of the columns that the statement
 * reads, but for its keys, which are the same in all of its rows.  If that takes too much memory,
 * the largest group gives its rows up: they come from a scan of their own, when it is their turn.
 * Groups are sorted by their keys, as SQLite would have sorted them.
 */
#include "query/grouped_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GROUPED_BYTES   (UINT64_C(512) << 20) /* COROTRACER_QUERY_MEMORY sets another limit */
#define GROUPED_COLUMNS 30u                   /* query_want.used has a bit for each */
#define GROUPED_RECENT  64u

struct row_group {
	struct cell *keys; /* one per key column */
	uint64_t hash;
	uint32_t next; /* 1 + the next group with this hash; 0: none */
	bool is_given_up;
	uint64_t nr, room; /* rows */
	uint64_t *values;  /* as many per row as columns are kept */
	uint8_t *kinds;    /* enum cell_kind of each value */
};

struct grouped_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query *query;
	const struct query_table *table;
	struct query_want want;
	struct query_rows *source;
	size_t keys[GROUPED_COLUMNS], kept[GROUPED_COLUMNS]; /* columns */
	size_t nr_keys, nr_kept;
	int place[GROUPED_COLUMNS]; /* of a column: in keys; or ~ in kept */
	struct row_group *groups;
	uint32_t nr, room;
	struct u64map by_hash;           /* to 1 + the first group */
	uint32_t recent[GROUPED_RECENT]; /* 1 + a group, by its hash */
	uint64_t bytes, most;
	bool has_read;
	/* The current row. */
	uint32_t group;
	uint64_t row; /* 1 + its number */
};

/* ---- groups -------------------------------------------------------------------- */

static uint64_t grouped_hash_cell(const struct cell *c)
{
	uint64_t hash = c->kind;
	size_t i;

	if (c->kind == CELL_TEXT) {
		for (i = 0; i < c->size; i++)
			hash = (hash ^ (uint8_t)c->text[i]) * UINT64_C(0x100000001b3);
		return hash ^ hash >> 29;
	}
	if (c->kind != CELL_NULL)
		hash ^= c->u * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static bool grouped_same_cell(const struct cell *a, const struct cell *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == CELL_TEXT)
		return a->size == b->size &&
		       (a->text == b->text || !memcmp(a->text, b->text, a->size));
	return a->kind == CELL_NULL || a->u == b->u;
}

static bool grouped_has_keys(const struct grouped_rows *r, const struct row_group *g,
			     const struct cell *keys)
{
	size_t i;

	for (i = 0; i < r->nr_keys; i++) {
		if (!grouped_same_cell(&g->keys[i], &keys[i]))
			return false;
	}
	return true;
}

static bool grouped_must_copy(const struct grouped_rows *r, const struct cell *keys, size_t i)
{
	return keys[i].kind == CELL_TEXT && keys[i].size && keys[i].text &&
	       !r->table->columns[r->keys[i]].is_static;
}

/* With copies of the texts that do not stay valid. */
static struct cell *grouped_copy_keys(const struct grouped_rows *r, const struct cell *keys)
{
	size_t i, size = 0;
	struct cell *copy;
	char *text;

	for (i = 0; i < r->nr_keys; i++)
		size += grouped_must_copy(r, keys, i) ? keys[i].size : 0;
	copy = malloc((r->nr_keys + 1) * sizeof(*copy) + size);
	if (!copy)
		return NULL;
	text = (char *)(copy + r->nr_keys);
	for (i = 0; i < r->nr_keys; i++) {
		copy[i] = keys[i];
		if (!grouped_must_copy(r, keys, i))
			continue;
		memcpy(text, keys[i].text, keys[i].size);
		copy[i].text = text;
		text += keys[i].size;
	}
	return copy;
}

/* Adds a group; NULL: no memory. */
static struct row_group *grouped_add(struct grouped_rows *r, const struct cell *keys, uint64_t hash,
				     uint64_t *first)
{
	struct row_group *g;

	if (r->nr == r->room) {
		uint32_t room = r->room ? r->room * 2 : 64;
		struct row_group *more = reallocarray(r->groups, room, sizeof(*more));

		if (!more)
			return NULL;
		r->groups = more;
		r->room = room;
	}
	g = &r->groups[r->nr];
	*g = (struct row_group){ .keys = grouped_copy_keys(r, keys),
				 .hash = hash,
				 .next = (uint32_t)*first };
	if (!g->keys)
		return NULL;
	*first = ++r->nr;
	r->bytes += sizeof(*g) + r->nr_keys * sizeof(*g->keys);
	return g;
}

static struct row_group *grouped_find(struct grouped_rows *r, const struct cell *keys)
{
	uint64_t hash = 0, *first;
	uint32_t *recent, at;
	size_t i;

	for (i = 0; i < r->nr_keys; i++)
		hash = hash * UINT64_C(0x9e3779b97f4a7c15) + grouped_hash_cell(&keys[i]);
	recent = &r->recent[(hash ^ hash >> 32) % GROUPED_RECENT];
	if (*recent && grouped_has_keys(r, &r->groups[*recent - 1], keys))
		return &r->groups[*recent - 1];
	first = u64map_at(&r->by_hash, hash);
	if (!first)
		return NULL;
	for (at = (uint32_t)*first; at; at = r->groups[at - 1].next) {
		if (!grouped_has_keys(r, &r->groups[at - 1], keys))
			continue;
		*recent = at;
		return &r->groups[at - 1];
	}
	return grouped_add(r, keys, hash, first);
}

/* ---- rows ---------------------------------------------------------------------- */

static bool grouped_make_room(struct grouped_rows *r, struct row_group *g)
{
	uint64_t room = g->room ? g->room * 2 : 16;
	uint64_t *values = reallocarray(g->values, room, r->nr_kept * sizeof(*values));
	uint8_t *kinds;

	if (!values)
		return false;
	g->values = values;
	kinds = reallocarray(g->kinds, room, r->nr_kept);
	if (!kinds)
		return false;
	g->kinds = kinds;
	r->bytes += (room - g->room) * r->nr_kept * (sizeof(*values) + 1);
	g->room = room;
	return true;
}

static void grouped_forget_rows(struct grouped_rows *r, struct row_group *g)
{
	r->bytes -= g->room * r->nr_kept * (sizeof(*g->values) + 1);
	free(g->values);
	free(g->kinds);
	g->values = NULL;
	g->kinds = NULL;
	g->room = 0;
}

static void grouped_give_up(struct grouped_rows *r)
{
	struct row_group *largest = &r->groups[0];
	uint32_t i;

	for (i = 1; i < r->nr; i++) {
		if (r->groups[i].room > largest->room)
			largest = &r->groups[i];
	}
	if (!largest->room)
		return;
	grouped_forget_rows(r, largest);
	largest->is_given_up = true;
}

static bool grouped_keep(struct grouped_rows *r, struct row_group *g)
{
	size_t i;

	if (!r->nr_kept || g->is_given_up) {
		g->nr++;
		return true;
	}
	if (g->nr == g->room && !grouped_make_room(r, g))
		return false;
	for (i = 0; i < r->nr_kept; i++) {
		struct cell c = { .kind = CELL_NULL };
		uint64_t at = g->nr * r->nr_kept + i;

		r->source->ops->cell(r->source, r->kept[i], &c);
		g->values[at] = c.u;
		g->kinds[at] = (uint8_t)c.kind;
	}
	g->nr++;
	if (r->bytes > r->most && g->nr == g->room)
		grouped_give_up(r);
	return true;
}

static void grouped_read_keys(const struct grouped_rows *r, struct cell *keys)
{
	size_t i;

	for (i = 0; i < r->nr_keys; i++) {
		keys[i] = (struct cell){ .kind = CELL_NULL };
		r->source->ops->cell(r->source, r->keys[i], &keys[i]);
	}
}

static void grouped_close_source(struct grouped_rows *r)
{
	if (r->source)
		r->source->ops->close(r->source);
	r->source = NULL;
}

/* NULL, then numbers, then text, then numbers above 2^63-1, which are blobs in SQLite. */
static int grouped_class(const struct cell *c)
{
	if (c->kind == CELL_NULL || c->kind == CELL_TEXT)
		return c->kind == CELL_TEXT ? 2 : 0;
	return c->kind != CELL_SIGNED && c->u > INT64_MAX ? 3 : 1;
}

static int grouped_compare_cells(const struct cell *a, const struct cell *b)
{
	int order = grouped_class(a) - grouped_class(b);
	size_t size;

	if (order || a->kind == CELL_NULL)
		return order;
	if (a->kind == CELL_TEXT) {
		size = a->size < b->size ? a->size : b->size;
		order = memcmp(a->text, b->text, size);
		return order ? order : (a->size > b->size) - (a->size < b->size);
	}
	return (a->u > b->u) - (a->u < b->u);
}

static int grouped_compare(const void *x, const void *y, void *nr_keys)
{
	const struct row_group *a = x, *b = y;
	size_t i, nr = *(const size_t *)nr_keys;
	int order = 0;

	for (i = 0; i < nr && !order; i++)
		order = grouped_compare_cells(&a->keys[i], &b->keys[i]);
	return order;
}

/* Groups of kinds, of which nothing else is read: whole blocks at a time. */
static bool grouped_count_kinds(struct grouped_rows *r)
{
	uint64_t counts[NR_TRACE_KINDS] = { 0 };
	unsigned kind;

	if (r->nr_kept || r->nr_keys != 1 || !r->source->ops->count_kinds ||
	    r->table->columns[r->keys[0]].push != QUERY_PUSH_KIND)
		return true;
	r->source->ops->count_kinds(r->source, counts);
	for (kind = 0; kind < NR_TRACE_KINDS; kind++) {
		struct cell key = query_word(trace_kind_name(kind));
		struct row_group *g = counts[kind] ? grouped_find(r, &key) : NULL;

		if (counts[kind] && !g)
			return false;
		if (g)
			g->nr += counts[kind];
	}
	return true;
}

static int grouped_read(struct grouped_rows *r, struct err *err)
{
	struct cell keys[GROUPED_COLUMNS] = { { .kind = CELL_NULL } };
	struct row_group *g;
	int rc;

	r->has_read = true;
	while ((rc = r->source->ops->next(r->source, err)) > 0) {
		grouped_read_keys(r, keys);
		g = grouped_find(r, keys);
		if (!g || !grouped_keep(r, g) || !grouped_count_kinds(r))
			return err_set(err, -ENOMEM, "no memory for the groups of '%s'",
				       r->table->name);
	}
	grouped_close_source(r);
	if (r->nr)
		qsort_r(r->groups, r->nr, sizeof(*r->groups), grouped_compare, &r->nr_keys);
	return rc;
}

/* The next row of a group that gave its rows up. */
static int grouped_scan_again(struct grouped_rows *r, struct err *err)
{
	struct cell keys[GROUPED_COLUMNS] = { { .kind = CELL_NULL } };
	int rc;

	if (!r->source)
		r->source = r->table->scan(r->query, r->table, &r->want, err);
	if (!r->source)
		return err->code;
	while ((rc = r->source->ops->next(r->source, err)) > 0) {
		grouped_read_keys(r, keys);
		if (grouped_has_keys(r, &r->groups[r->group], keys))
			return 1;
	}
	grouped_close_source(r);
	return rc;
}

static int grouped_rows_next(struct query_rows *rows, struct err *err)
{
	struct grouped_rows *r = (struct grouped_rows *)rows;
	int rc = r->has_read ? 0 : grouped_read(r, err);

	for (; rc >= 0 && r->group < r->nr; r->group++, r->row = 0) {
		const struct row_group *g = &r->groups[r->group];

		if (g->is_given_up) {
			rc = grouped_scan_again(r, err);
			if (rc)
				return rc;
		} else if (r->row < g->nr) {
			r->row++;
			return 1;
		}
	}
	return rc;
}

static void grouped_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	struct grouped_rows *r = (struct grouped_rows *)rows;
	const struct row_group *g = &r->groups[r->group];
	int place = r->place[column];
	uint64_t at;

	if (place >= 0) {
		*c = g->keys[place];
	} else if (g->is_given_up) {
		r->source->ops->cell(r->source, column, c);
	} else {
		at = (r->row - 1) * r->nr_kept + (uint64_t)~place;
		c->kind = (enum cell_kind)g->kinds[at];
		c->u = g->values[at];
	}
}

static void grouped_rows_close(struct query_rows *rows)
{
	struct grouped_rows *r = (struct grouped_rows *)rows;
	uint32_t i;

	grouped_close_source(r);
	for (i = 0; i < r->nr; i++) {
		grouped_forget_rows(r, &r->groups[i]);
		free(r->groups[i].keys);
	}
	free(r->groups);
	u64map_release(&r->by_hash);
	free(r);
}

static const struct query_rows_ops grouped_rows_ops = { .next = grouped_rows_next,
							.cell = grouped_rows_cell,
							.close = grouped_rows_close };

/* ---- the scan ------------------------------------------------------------------- */

bool grouped_rows_can(const struct query *q, const struct query_table *t, uint32_t keys,
		      uint32_t used)
{
	size_t i;

	/* A second scan of a trace that grows may find other rows. */
	if (!keys || t->nr_columns > GROUPED_COLUMNS || t->has_few_rows || q->trace.is_growing)
		return false;
	for (i = 0; i < t->nr_columns; i++) {
		if ((used & ~keys) >> i & 1 && t->columns[i].type == COLUMN_TEXT)
			return false;
	}
	return true;
}

struct query_rows *grouped_rows_scan(struct query *q, const struct query_table *t,
				     const struct query_want *want, uint32_t keys, struct err *err)
{
	struct grouped_rows *r = calloc(1, sizeof(*r));
	const char *limit;
	size_t i;

	if (!r) {
		err_set(err, -ENOMEM, "no memory for the groups of '%s'", t->name);
		return NULL;
	}
	r->rows.ops = &grouped_rows_ops;
	r->query = q;
	r->table = t;
	r->want = *want;
	r->most = GROUPED_BYTES;
	limit = getenv("COROTRACER_QUERY_MEMORY");
	if (limit && *limit)
		r->most = strtoull(limit, NULL, 10);
	for (i = 0; i < t->nr_columns; i++) {
		if (keys >> i & 1) {
			r->place[i] = (int)r->nr_keys;
			r->keys[r->nr_keys++] = i;
		} else {
			r->place[i] = ~(int)r->nr_kept;
			if (want->used >> i & 1)
				r->kept[r->nr_kept++] = i;
		}
	}
	r->source = t->scan(q, t, want, err);
	if (r->source)
		return &r->rows;
	free(r);
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* miss_rows.c - the misses of one trace by type, field, allocation site and function. */
#include "memory/diff/miss_rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "memory/blame/blame_allocations.h"

#define MISS_KEY_SIZE 1600

static const char *miss_key(const struct miss_row *r, char key[MISS_KEY_SIZE])
{
	snprintf(key, MISS_KEY_SIZE, "%u\n%.780s\n%.780s", (unsigned)r->kind, r->name, r->part);
	return key;
}

static const char *miss_keep(struct miss_rows *m, const char *text)
{
	int64_t number = strtab_intern(&m->texts, text ? text : "");

	return number < 0 ? NULL : strtab_text(&m->texts, (size_t)number);
}

static void miss_row_add(struct miss_row *to, const struct miss_row *from)
{
	uint32_t i;

	to->accesses += from->accesses;
	to->cost += from->cost;
	for (i = 0; i < SIM_LEVELS_MAX; i++)
		to->misses[i] += from->misses[i];
}

/* Rows with the same names are one row. */
static int miss_rows_add(struct miss_rows *m, struct miss_row row)
{
	char key[MISS_KEY_SIZE];
	struct miss_row *more;
	uint64_t *at = NULL;
	int64_t number;

	row.name = miss_keep(m, row.name);
	row.part = miss_keep(m, row.part);
	if (!row.name || !row.part)
		return -ENOMEM;
	number = strtab_intern(&m->texts, miss_key(&row, key));
	if (number >= 0)
		at = u64map_at(&m->by_key, (uint64_t)number);
	if (!at)
		return -ENOMEM;
	if (*at) {
		miss_row_add(&m->rows[*at - 1], &row);
		return 0;
	}
	if (m->nr == m->room) {
		more = reallocarray(m->rows, m->room ? 2 * m->room : 64, sizeof(*more));
		if (!more)
			return -ENOMEM;
		m->room = m->room ? 2 * m->room : 64;
		m->rows = more;
	}
	m->rows[m->nr++] = row;
	*at = m->nr;
	return 0;
}

/* ---- rows of a trace -------------------------------------------------------------- */

static struct miss_row miss_of_blame(const struct blame *b, const struct blame_counts *c)
{
	struct miss_row row = { .accesses = (c->reads + c->writes) / BLAME_ONE,
				.cost = blame_cost(b, c) / BLAME_ONE };
	uint32_t i;

	for (i = 0; i < blame_levels(b); i++)
		row.misses[i] = c->misses[i] / BLAME_ONE;
	return row;
}

static int miss_add_owner(struct miss_rows *m, struct blame *b, const struct blame_owner *o)
{
	const struct owner *known = mem_places_owner(blame_places(b), o->owner);
	struct miss_row row = miss_of_blame(b, &o->counts);
	uint32_t i;

	/* Its name has a line number: miss_add_sites() has the same blocks. */
	if (known->kind == OWNER_SITE)
		return 0;
	row.kind = MISS_TYPE;
	row.name = known->name;
	row.size = known->size;
	if (miss_rows_add(m, row) < 0)
		return -ENOMEM;
	for (i = 0; o->fields && i < o->nr_fields; i++) {
		row = miss_of_blame(b, &o->fields[i].counts);
		row.kind = MISS_FIELD;
		row.name = known->name;
		row.part = blame_field_name(b, o, i);
		if (row.accesses && miss_rows_add(m, row) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int miss_add_owners(struct miss_rows *m, struct blame *b)
{
	size_t nr = blame_owners(b, NULL, 0), i;
	const struct blame_owner **list = calloc(nr + 1, sizeof(struct blame_owner *));
	int rc = list ? 0 : -ENOMEM;

	if (list)
		blame_owners(b, list, nr);
	for (i = 0; !rc && i < nr; i++)
		rc = miss_add_owner(m, b, list[i]);
	free(list);
	return rc;
}

static int miss_add_sites(struct miss_rows *m, struct blame *b)
{
	size_t nr = blame_allocations(b, NULL, 0), i;
	const struct blame_allocation **list = calloc(nr + 1, sizeof(struct blame_allocation *));
	int rc = list ? 0 : -ENOMEM;

	if (list)
		blame_allocations(b, list, nr);
	for (i = 0; !rc && i < nr; i++) {
		const struct blame_allocation *a = list[i];
		struct miss_row row = miss_of_blame(b, &a->counts);

		row.kind = MISS_SITE;
		row.name = a->function ? a->function : a->module ? path_base(a->module) : "";
		row.part = a->file ? path_base(a->file) : "";
		rc = miss_rows_add(m, row);
	}
	free(list);
	return rc;
}

static int miss_add_functions(struct miss_rows *m, const struct call_profile *p)
{
	uint32_t i, k;
	int rc = 0;

	for (i = 1; !rc && i < p->nr_functions; i++) {
		const struct call_function *f = &p->functions[i];
		struct miss_row row = { .kind = MISS_FUNCTION,
					.name = f->name,
					.part = f->file ? path_base(f->file) : "",
					.accesses = f->self.n[CALL_READS] + f->self.n[CALL_WRITES],
					.cost = call_profile_cost(p, &f->self) };

		for (k = 0; k < p->nr_levels; k++)
			row.misses[k] = call_counts_misses(&f->self, k);
		if (row.accesses)
			rc = miss_rows_add(m, row);
	}
	return rc;
}

int miss_rows_make(struct miss_rows *m, struct blame *blame, const struct call_profile *profile)
{
	memset(m, 0, sizeof(*m));
	m->nr_levels = blame_levels(blame);
	m->total = miss_of_blame(blame, blame_total(blame));
	m->total.name = m->total.part = "";
	if (miss_add_owners(m, blame) < 0 || miss_add_sites(m, blame) < 0 ||
	    miss_add_functions(m, profile) < 0)
		return -ENOMEM;
	return 0;
}

const struct miss_row *miss_rows_find(const struct miss_rows *m, const struct miss_row *like)
{
	char key[MISS_KEY_SIZE];
	int64_t number = strtab_find(&m->texts, miss_key(like, key));
	uint64_t at;

	if (number < 0 || !u64map_get(&m->by_key, (uint64_t)number, &at))
		return NULL;
	return &m->rows[at - 1];
}

void miss_rows_release(struct miss_rows *m)
{
	free(m->rows);
	strtab_release(&m->texts);
	u64map_release(&m->by_key);
	memset(m, 0, sizeof(*m));
}

/* SPDX-License-Identifier: MIT */
/* blame_coroutines.c - misses and allocations by kind of coroutine and await site. */
#include "memory/blame/blame_coroutines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "memory/blame/blame_state.h"

#define OUTSIDE   0    /* row of accesses outside of all coroutines */
#define SEPARATOR '\1' /* instead of the NULs between the parts of a text */

struct blame_changes {
	struct strtab texts;      /* "": outside; else '+', kind, file, function, line */
	struct blame_await *rows; /* by the number of the text */
	size_t nr_rows, room;
	struct u64map by_thread; /* to the row; OUTSIDE if it is not in the map */
	struct u64map since;     /* thread to the time from which its row is timed; 0: it is not */
	uint32_t last_thread, last_row;
	bool has_last, has_coroutines;
	/* Computed on request. */
	struct blame_coroutine *kinds;
	size_t nr_kinds;
	struct u64map by_kind; /* address of its text to 1 + index */
	struct strtab parts;
};

/* ---- while the trace is read ------------------------------------------------ */

/* The row of @text, added if it is new; -ENOMEM. */
static int64_t blame_row_of(struct blame_changes *c, const char *text)
{
	int64_t number = c->texts.nr < BLAME_AWAITS_MAX ? strtab_intern(&c->texts, text)
							: strtab_find(&c->texts, text);

	if (number == -ENOENT)
		number = strtab_intern(&c->texts, "+(others)");
	if (number < 0)
		return number;
	while (c->nr_rows <= (size_t)number) {
		if (c->nr_rows == c->room) {
			size_t room = c->room ? 2 * c->room : 64;
			struct blame_await *rows = realloc(c->rows, room * sizeof(*rows));

			if (!rows)
				return -ENOMEM;
			c->rows = rows;
			c->room = room;
		}
		memset(&c->rows[c->nr_rows++], 0, sizeof(*c->rows));
	}
	return number;
}

static struct blame_changes *blame_changes_of(struct blame *b)
{
	if (!b->changes) {
		b->changes = calloc(1, sizeof(*b->changes));
		if (b->changes && blame_row_of(b->changes, "") != OUTSIDE) {
			blame_coroutines_release(b);
			return NULL;
		}
	}
	return b->changes;
}

static uint32_t blame_thread_row(struct blame_changes *c, uint32_t thread)
{
	uint64_t row;

	if (c->has_last && c->last_thread == thread)
		return c->last_row;
	c->last_row = u64map_get(&c->by_thread, thread, &row) ? (uint32_t)row : OUTSIDE;
	c->last_thread = thread;
	c->has_last = true;
	return c->last_row;
}

/* The row of a MEM_CORO record. */
static int64_t blame_changed_row(struct blame_changes *c, const struct mem_record *r)
{
	char *text;
	int64_t row;
	uint32_t i;

	if (!r->value)
		return OUTSIDE;
	text = malloc((size_t)r->name_size + 2);
	if (!text)
		return -ENOMEM;
	text[0] = '+';
	for (i = 0; i < r->name_size; i++)
		text[1 + i] = r->name[i] ? r->name[i] : SEPARATOR;
	text[1 + i] = '\0';
	row = blame_row_of(c, text);
	free(text);
	return row;
}

/*
 * The thread of @r changes to @row: the time up to now is that of its row before.  A slice whose
 * start is not in the trace, or not chosen, is not counted, and its time is not either.
 */
static int blame_time_row(struct blame_changes *c, const struct mem_record *r, uint32_t row)
{
	uint32_t before = blame_thread_row(c, r->thread);
	uint64_t *since = u64map_at(&c->since, r->thread);
	bool was_timed;

	if (!since)
		return -ENOMEM;
	was_timed = *since != 0;
	if (was_timed && r->time_ns > *since)
		c->rows[before].slice_ns += r->time_ns - *since;
	*since = !mem_is_repeated(r) || (was_timed && row == before) ? r->time_ns : 0;
	return 0;
}

int blame_coroutine_record(struct blame *b, const struct mem_record *r)
{
	struct blame_changes *c = blame_changes_of(b);
	int64_t row;

	if (!c)
		return -ENOMEM;
	if (r->kind == MEM_ADD) {
		struct blame_await *a = &c->rows[blame_thread_row(c, r->thread)];

		a->allocations++;
		a->allocated += (uint64_t)r->elem_size * r->elem_count;
		return 0;
	}
	row = blame_changed_row(c, r);
	if (row < 0 || blame_time_row(c, r, (uint32_t)row) < 0 ||
	    u64map_put(&c->by_thread, r->thread, (uint64_t)row) < 0)
		return -ENOMEM;
	c->has_last = false;
	c->has_coroutines = true;
	if ((r->cause & CRAY_CORO_CAUSE) == CRAY_CORO_RESUMED)
		c->rows[row].slices++;
	return 0;
}

struct blame_counts *blame_coroutine_counts(struct blame *b, uint32_t thread)
{
	struct blame_changes *c = blame_changes_of(b);

	return c ? &c->rows[blame_thread_row(c, thread)].counts : NULL;
}

/* ---- results ---------------------------------------------------------------- */

static void blame_await_add(struct blame_await *to, const struct blame_await *from)
{
	to->slices += from->slices;
	to->slice_ns += from->slice_ns;
	to->allocations += from->allocations;
	to->allocated += from->allocated;
	blame_add_counts(&to->counts, &from->counts);
}

/* A copy of a part of a text, which lives as long as the blame; NULL: no memory. */
static const char *blame_part_text(struct blame_changes *c, const char *text, size_t size)
{
	char *copy = strndup(text, size);
	int64_t number = copy ? strtab_intern(&c->parts, copy) : -ENOMEM;

	free(copy);
	return number < 0 ? NULL : strtab_text(&c->parts, (size_t)number);
}

/* The part at *@at, which is moved behind its separator. */
static const char *blame_next_part(struct blame_changes *c, const char **at)
{
	const char *part = *at;
	size_t size = strcspn(part, (char[]){ SEPARATOR, '\0' });

	*at = part + size + (part[size] != '\0');
	return blame_part_text(c, part, size);
}

static struct blame_coroutine *blame_kind_of(struct blame_changes *c, const char *kind)
{
	/* Kinds are interned: equal ones have one address. */
	uint64_t *index = u64map_at(&c->by_kind, (uint64_t)(uintptr_t)kind);
	struct blame_coroutine *more;

	if (index && *index)
		return &c->kinds[*index - 1];
	more = index ? reallocarray(c->kinds, c->nr_kinds + 1, sizeof(*more)) : NULL;
	if (!more)
		return NULL;
	*index = c->nr_kinds + 1;
	c->kinds = more;
	more += c->nr_kinds++;
	memset(more, 0, sizeof(*more));
	more->kind = kind;
	return more;
}

/*
 * The kind of a coroutine without a name is the function of its code ("@" and an address), or the
 * function that awaits.
 */
static const char *blame_kind_text(struct blame *b, const char *kind, const char *function)
{
	char *end = NULL;
	uint64_t code = *kind == '@' ? strtoull(kind + 1, &end, 16) : 0;
	struct symbol symbol = { 0 };

	if (end && end > kind + 1 && !*end && symbols_find(b->symbols, 0, code, &symbol) &&
	    symbol.function)
		kind = symbol.function;
	else if (!*kind || (end && end > kind + 1 && !*end && *function))
		kind = *function ? function : "(unnamed)";
	return blame_part_text(b->changes, kind, strlen(kind));
}

/* Add the row with number @i to its kind. */
static bool blame_group_row(struct blame *b, size_t i)
{
	struct blame_changes *c = b->changes;
	const char *at = strtab_text(&c->texts, i), *kind, *line;
	struct blame_await a = c->rows[i], *more;
	struct blame_coroutine *to;

	if (i == OUTSIDE) {
		to = blame_kind_of(c, NULL);
		if (to)
			blame_await_add(&to->all, &a);
		return to != NULL;
	}
	at++;
	kind = blame_next_part(c, &at);
	a.file = blame_next_part(c, &at);
	a.function = blame_next_part(c, &at);
	line = blame_next_part(c, &at);
	if (!kind || !a.file || !a.function || !line)
		return false;
	a.line = (uint32_t)strtoul(line, NULL, 10);
	kind = blame_kind_text(b, kind, a.function);
	to = kind ? blame_kind_of(c, kind) : NULL;
	if (!to)
		return false;
	if (to->nr_awaits == to->room) {
		to->room = to->room ? 2 * to->room : 8;
		more = reallocarray(to->awaits, to->room, sizeof(*more));
		if (!more)
			return false;
		to->awaits = more;
	}
	to->awaits[to->nr_awaits++] = a;
	blame_await_add(&to->all, &a);
	return true;
}

static int awaits_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_await *a = x, *c = y;
	int order = blame_by_cost(b, &a->counts, &c->counts);

	if (!order)
		order = strcmp(a->file, c->file);
	return order ? order : (a->line > c->line) - (a->line < c->line);
}

static int kinds_by_cost(const void *x, const void *y, void *b)
{
	const struct blame_coroutine *a = x, *c = y;
	int order = blame_by_cost(b, &a->all.counts, &c->all.counts);

	return order ? order : strcmp(a->kind ? a->kind : "", c->kind ? c->kind : "");
}

static void blame_free_kinds(struct blame_changes *c)
{
	size_t i;

	for (i = 0; i < c->nr_kinds; i++)
		free(c->kinds[i].awaits);
	free(c->kinds);
	u64map_release(&c->by_kind);
	c->kinds = NULL;
	c->nr_kinds = 0;
}

const struct blame_coroutine *blame_coroutines(struct blame *b, size_t *nr)
{
	static const struct blame_coroutine none;
	struct blame_changes *c = b->changes;
	size_t i;

	blame_memos_settle(b);
	*nr = 0;
	if (!c || !c->has_coroutines)
		return &none;
	blame_free_kinds(c);
	for (i = 0; i < c->nr_rows; i++) {
		if (!blame_group_row(b, i))
			return NULL;
	}
	for (i = 0; i < c->nr_kinds; i++) {
		if (c->kinds[i].nr_awaits)
			qsort_r(c->kinds[i].awaits, c->kinds[i].nr_awaits,
				sizeof(*c->kinds[i].awaits), awaits_by_cost, b);
	}
	if (!c->kinds)
		return NULL;
	qsort_r(c->kinds, c->nr_kinds, sizeof(*c->kinds), kinds_by_cost, b);
	*nr = c->nr_kinds;
	return c->kinds;
}

void blame_coroutines_release(struct blame *b)
{
	struct blame_changes *c = b->changes;

	if (!c)
		return;
	blame_free_kinds(c);
	strtab_release(&c->texts);
	strtab_release(&c->parts);
	u64map_release(&c->by_thread);
	u64map_release(&c->since);
	free(c->rows);
	free(c);
	b->changes = NULL;
}

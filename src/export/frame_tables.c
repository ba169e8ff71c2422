/* SPDX-License-Identifier: MIT */
/* frame_tables.c - the frames of a recording as rows of tables. */
#include "export/frame_tables.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"

#define RECORDING   "recording"
#define COLUMNS_MAX 4096 /* no database takes more */

static const char *const no_indexes[] = { NULL };
static const struct column header_columns[] = {
	{ "key", COLUMN_TEXT, true },
	{ "value", COLUMN_TEXT, true },
};

/* ---- names --------------------------------------------------------------- */

/* @size, or less: not in the middle of a character of UTF-8. */
static size_t cut_utf8(const char *name, size_t size, size_t max)
{
	if (size <= max)
		return size;
	while (max && ((unsigned char)name[max] & 0xc0) == 0x80)
		max--;
	return max;
}

/*
 * @name as a name in a database; a number is appended if one of the @nr others equals it.  @max 0:
 * no limit.  The caller frees it; NULL: no memory.
 */
static char *unique_name(const void *others, size_t nr,
			 const char *(*name_of)(const void *, size_t), const char *name, size_t max)
{
	size_t size = strlen(name), i = 0;
	char *made = NULL;
	unsigned number = 1;

	if (asprintf(&made, "%.*s", (int)(max ? cut_utf8(name, size, max) : size), name) < 0)
		return NULL;
	while (i < nr) {
		if (strcasecmp(name_of(others, i++), made) != 0)
			continue;
		free(made);
		if (asprintf(&made, "%.*s_%u", (int)(max ? cut_utf8(name, size, max - 6) : size),
			     name, ++number) < 0)
			return NULL;
		i = 0;
	}
	return made;
}

static const char *table_name_of(const void *all, size_t i)
{
	return ((const struct table *)all)[i].name;
}

static const char *column_name_of(const void *all, size_t i)
{
	return ((const struct column *)all)[i].name;
}

/* Never a reserved name of SQLite, nor "recording". */
static char *frame_table_name(const struct frame_tables *t, size_t nr, const char *name,
			      const struct sink *sink, const char *prefix)
{
	bool is_reserved = !strncasecmp(name, "sqlite_", 7) || !strcasecmp(name, RECORDING);
	char *full = NULL, *made;

	if (asprintf(&full, "%s%s%s%s", prefix ? prefix : "", prefix ? "_" : "",
		     is_reserved && !prefix ? "frame_" : "", name) < 0)
		return NULL;
	if (!sink->is_database)
		return full;
	made = unique_name(t->tables, nr, table_name_of, full, sink->name_max);
	free(full);
	return made;
}

/* ---- columns ------------------------------------------------------------- */

static enum column_type column_type_of(const struct row_cell *c)
{
	if (!c->field)
		return COLUMN_U64;
	switch (c->field->type) {
	case DESC_FLOAT:
	case DESC_DOUBLE:
		return COLUMN_REAL;
	case DESC_STRING:
	case DESC_ENUM:
		return COLUMN_TEXT;
	case DESC_BOOL:
		return COLUMN_BOOL;
	case DESC_UINT8:
	case DESC_UINT16:
	case DESC_UINT32:
	case DESC_UINT64:
	case DESC_COUNTER:
		return c->start ? COLUMN_I64 : COLUMN_U64;
	default:
		return COLUMN_I64;
	}
}

static bool add_columns(struct table *t, const struct row_plan *p, const struct sink *sink)
{
	struct column *columns = calloc(row_columns(p), sizeof(*columns));
	bool is_unique = sink->is_database && row_columns(p) <= COLUMNS_MAX;
	char buf[DESC_NAME_MAX * 2 + 300];
	size_t c;
	uint32_t i;

	t->columns = columns;
	for (c = 0; columns && c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++) {
			const char *name = row_column_name(&p->cells[c], i, buf, sizeof(buf));
			struct column *column = &columns[t->nr_columns];

			column->type = column_type_of(&p->cells[c]);
			column->may_be_null = true;
			column->name = is_unique ? unique_name(columns, t->nr_columns,
							       column_name_of, name, sink->name_max)
						 : strdup(name);
			if (!column->name)
				return false;
			t->nr_columns++;
		}
	}
	return columns != NULL;
}

/* ---- tables -------------------------------------------------------------- */

static int frame_tables_no_memory(const struct recfile *f, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the columns of '%s'", f->name);
}

static bool add_table(struct frame_tables *t, const struct row_plan *p, const struct sink *sink,
		      const char *prefix)
{
	struct table *made = &t->tables[t->nr];

	*made = (struct table){ .indexes = no_indexes, .has_no_id = true };
	made->name = frame_table_name(t, t->nr, p->frame->name, sink, prefix);
	t->nr++;
	return made->name && add_columns(made, p, sink);
}

static bool add_header_table(struct frame_tables *t, const char *prefix)
{
	struct table *made = &t->tables[t->nr++];

	*made = (struct table){ .columns = header_columns,
				.nr_columns = 2,
				.indexes = no_indexes,
				.has_no_id = true,
				.is_plain = !prefix };
	t->first = 1;
	if (asprintf(&made->name, "%s%s" RECORDING, prefix ? prefix : "", prefix ? "_" : "") < 0)
		made->name = NULL;
	return made->name != NULL;
}

int frame_tables_make(struct frame_tables *t, const struct recfile *f, const struct row_plan *plans,
		      const struct sink *sink, const char *prefix, struct err *err)
{
	size_t i, widest = 2;
	bool good;

	memset(t, 0, sizeof(*t));
	t->needs_utf8 = sink->name_max != 0;
	t->is_database = sink->is_database;
	t->tables = calloc(f->desc.nr_frames + 1, sizeof(*t->tables));
	good = t->tables && (!sink->is_database || add_header_table(t, prefix));
	for (i = 0; good && i < f->desc.nr_frames; i++) {
		good = add_table(t, &plans[i], sink, prefix);
		if (t->tables[t->nr - 1].nr_columns > widest)
			widest = t->tables[t->nr - 1].nr_columns;
	}
	t->cells = good ? calloc(widest, sizeof(*t->cells)) : NULL;
	return t->cells ? 0 : frame_tables_no_memory(f, err);
}

void frame_tables_release(struct frame_tables *t)
{
	size_t i, c;

	for (i = t->first; t->tables && i < t->nr; i++) {
		for (c = 0; c < t->tables[i].nr_columns; c++)
			free((char *)t->tables[i].columns[c].name);
		free((struct column *)t->tables[i].columns);
	}
	tables_free(t->tables, t->nr);
	free(t->cells);
	bytes_release(&t->texts);
	memset(t, 0, sizeof(*t));
}

/* ---- rows ---------------------------------------------------------------- */

/* Appends the text as valid UTF-8; t->texts may move, so the cell gets an offset for now. */
static void add_utf8(struct frame_tables *t, struct cell *c)
{
	size_t at = 0, from = t->texts.size, len;
	uint32_t cp;

	for (; at < c->size; at += len) {
		len = utf8_next(c->text + at, c->size - at, &cp);
		if (cp == UTF8_BAD)
			bytes_add(&t->texts, "\xef\xbf\xbd", 3);
		else
			bytes_add(&t->texts, c->text + at, len);
	}
	c->text = NULL;
	c->size = t->texts.size - from;
}

static bool clean_row(struct frame_tables *t, size_t nr)
{
	size_t i, at = 0;

	bytes_clear(&t->texts);
	for (i = 0; i < nr; i++) {
		if (t->cells[i].kind == CELL_TEXT)
			add_utf8(t, &t->cells[i]);
	}
	for (i = 0; i < nr && !t->texts.error; i++) {
		if (t->cells[i].kind != CELL_TEXT)
			continue;
		t->cells[i].text = t->cells[i].size ? (const char *)t->texts.data + at : "";
		at += t->cells[i].size;
	}
	return !t->texts.error;
}

const struct cell *frame_tables_row(struct frame_tables *t, const struct frame_shown *f)
{
	const struct row_plan *p = f->plan;
	size_t c, nr = 0;
	uint32_t i;

	for (c = 0; c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++) {
			struct cell *v = &t->cells[nr++];

			row_get(p, &p->cells[c], i, f->image, f->ticket, v);
			if (v->kind == CELL_FLOAT && t->is_database)
				*v = (struct cell){ .kind = CELL_DOUBLE, .d = (double)v->f };
		}
	}
	return t->needs_utf8 && !clean_row(t, nr) ? NULL : t->cells;
}

/* ---- header -------------------------------------------------------------- */

struct header_writer {
	struct frame_tables *t;
	const struct sink *sink;
	struct sink_job *job;
	struct err *err;
	int rc;
};

static void put_fact(struct header_writer *w, const char *key, const char *value)
{
	if (w->rc)
		return;
	w->t->cells[0] = cell_text(key, strlen(key));
	w->t->cells[1] = value ? cell_text(value, strlen(value))
			       : (struct cell){ .kind = CELL_NULL };
	if (w->t->needs_utf8 && !clean_row(w->t, 2))
		w->rc = frame_tables_no_memory(w->job->recording, w->err);
	else
		w->rc = w->sink->row(w->job, 0, w->t->cells, w->err);
}

int frame_tables_put_header(struct frame_tables *t, const struct sink *sink, struct sink_job *job,
			    struct err *err)
{
	struct header_writer w = { .t = t, .sink = sink, .job = job, .err = err };
	const struct recfile *f = job->recording;
	char counter[32], *tag;
	unsigned i;
	size_t g;

	if (!t->first)
		return 0;
	put_fact(&w, "buffer", f->desc.name);
	put_fact(&w, "date", f->info.date);
	if (f->info.comment && *f->info.comment)
		put_fact(&w, "comment", f->info.comment);
	for (i = 0; i < f->info.nr_counters; i++) {
		snprintf(counter, sizeof(counter), "counter %u", i);
		put_fact(&w, counter, f->info.counters[i]);
	}
	for (g = 0; g < f->desc.nr_tags && !w.rc; g++) {
		if (asprintf(&tag, "tag %s", f->desc.tags[g].key) < 0)
			return frame_tables_no_memory(f, err);
		put_fact(&w, tag, f->desc.tags[g].value);
		free(tag);
	}
	return w.rc;
}

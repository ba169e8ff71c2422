/* SPDX-License-Identifier: MIT */
/*
 * decode_sqlite.c - frames as tables of a SQLite database.
 *
 * One table per frame type, with the names and columns of the CSV, except for names that SQLite
 * treats as equal (it ignores case) or reserves.  A table "recording" has the data of the
 * header.  Everything is one transaction: a database is complete or empty.
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fmt.h"
#include "base/output_file.h"
#include "base/sqlite_code.h"
#include "base/text.h"
#include "frames/file/decode.h"
#include "frames/file/frame_columns.h"

struct decode_sqlite_state {
	sqlite3 *db;
	sqlite3_stmt **inserts; /* per type */
	char **tables;          /* their names, per type */
	struct outfile file;
};

static int decode_sqlite_set_failed(const struct decode_sqlite_state *s, struct err *err)
{
	err_set(err, sqlite_code(s->db), "cannot write '%s': %s", s->file.path,
		sqlite3_errmsg(s->db));
	outfile_hint(err);
	return err->code;
}

static int decode_sqlite_execute(struct decode_sqlite_state *s, const char *sql, struct err *err)
{
	return sqlite3_exec(s->db, sql, NULL, NULL, NULL) == SQLITE_OK
		       ? 0
		       : decode_sqlite_set_failed(s, err);
}

/* ---- tables -------------------------------------------------------------- */

static const char *column_type(const struct row_cell *c)
{
	if (!c->field)
		return "INTEGER";
	switch (c->field->type) {
	case DESC_FLOAT:
	case DESC_DOUBLE:
		return "REAL";
	case DESC_STRING:
	case DESC_ENUM:
		return "TEXT";
	default:
		return "INTEGER";
	}
}

static bool decode_sqlite_is_taken(char *const *names, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!sqlite3_stricmp(names[i], name))
			return true;
	}
	return false;
}

/* @name, with a number appended if @names has it already.  NULL: no memory. */
static char *free_name(char *const *names, size_t nr, const char *name)
{
	char *made = strdup(name);
	unsigned n = 2;

	while (made && decode_sqlite_is_taken(names, nr, made)) {
		free(made);
		if (asprintf(&made, "%s_%u", name, n++) < 0)
			return NULL;
	}
	return made;
}

/* The name of the table of type @nr: never a reserved name of SQLite, nor "recording". */
static char *decode_sqlite_table_name(struct decode_sqlite_state *s, const struct row_plan *p,
				      size_t nr)
{
	const char *name = p->frame->name;
	char *prefixed = NULL, *made;

	if (!sqlite3_strnicmp(name, "sqlite_", 7) || !sqlite3_stricmp(name, "recording")) {
		if (asprintf(&prefixed, "frame_%s", name) < 0)
			return NULL;
		name = prefixed;
	}
	made = free_name(s->tables, nr, name);
	free(prefixed);
	return made;
}

static bool decode_sqlite_put_columns(sqlite3_str *sql, const struct row_plan *p, char **names)
{
	char name[DESC_NAME_MAX * 2 + 300];
	size_t c, nr = 0;
	uint32_t i;

	for (c = 0; c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++, nr++) {
			names[nr] = free_name(names, nr,
					      row_column_name(&p->cells[c], i, name, sizeof(name)));
			if (!names[nr])
				return false;
			sqlite3_str_appendf(sql, "%s\"%w\" %s", nr ? ", " : "", names[nr],
					    column_type(&p->cells[c]));
		}
	}
	return true;
}

/* "CREATE TABLE ..."; NULL: no memory. */
static char *table_text(struct decode_sqlite_state *s, const struct row_plan *p, const char *table)
{
	size_t i, nr = row_columns(p);
	char **names = calloc(nr + 1, sizeof(*names)); // NOLINT
	sqlite3_str *sql = sqlite3_str_new(s->db);
	bool good;
	char *text;

	sqlite3_str_appendf(sql, "CREATE TABLE \"%w\" (", table);
	good = names && decode_sqlite_put_columns(sql, p, names);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	for (i = 0; names && i < nr; i++)
		free(names[i]);
	free(names);
	if (good)
		return text;
	sqlite3_free(text);
	return NULL;
}

static int check_width(struct decode_sqlite_state *s, const struct row_plan *p, struct err *err)
{
	int most = sqlite3_limit(s->db, SQLITE_LIMIT_COLUMN, -1);

	if (row_columns(p) <= (size_t)most)
		return 0;
	err_set(err, -E2BIG, "frame '%s' has %zu columns, and a table takes %d", p->frame->name,
		row_columns(p), most);
	err_hint(err, "arrays take a column per element; --format jsonl has no such limit");
	return -E2BIG;
}

static int decode_sqlite_make_table(struct decode_sqlite_state *s, const struct row_plan *p,
				    size_t type, struct err *err)
{
	size_t i, nr = row_columns(p);
	sqlite3_str *sql;
	char *text;
	int rc = check_width(s, p, err);

	if (rc < 0)
		return rc;
	s->tables[type] = decode_sqlite_table_name(s, p, type);
	text = s->tables[type] ? table_text(s, p, s->tables[type]) : NULL;
	rc = text ? decode_sqlite_execute(s, text, err)
		  : err_set(err, -ENOMEM, "no memory for a table");
	sqlite3_free(text);
	if (rc < 0)
		return rc;
	sql = sqlite3_str_new(s->db);
	sqlite3_str_appendf(sql, "INSERT INTO \"%w\" VALUES (", s->tables[type]);
	for (i = 0; i < nr; i++)
		sqlite3_str_appendall(sql, i ? ",?" : "?");
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (!text || sqlite3_prepare_v2(s->db, text, -1, &s->inserts[type], NULL) != SQLITE_OK)
		rc = decode_sqlite_set_failed(s, err);
	sqlite3_free(text);
	return rc;
}

static int decode_sqlite_put_fact(struct decode_sqlite_state *s, const char *key, const char *value,
				  struct err *err)
{
	char *sql = sqlite3_mprintf("INSERT INTO recording VALUES (%Q, %Q)", key, value);
	int rc = sql ? decode_sqlite_execute(s, sql, err)
		     : err_set(err, -ENOMEM, "no memory for a row");

	sqlite3_free(sql);
	return rc;
}

static int put_facts(struct decode_sqlite_state *s, const struct recfile *f, struct err *err)
{
	char key[32];
	unsigned i;
	size_t t;
	int rc = decode_sqlite_execute(s, "CREATE TABLE recording (key TEXT, value TEXT)", err);

	if (!rc)
		rc = decode_sqlite_put_fact(s, "buffer", f->desc.name, err);
	if (!rc)
		rc = decode_sqlite_put_fact(s, "date", f->info.date, err);
	if (!rc && f->info.comment && *f->info.comment)
		rc = decode_sqlite_put_fact(s, "comment", f->info.comment, err);
	for (i = 0; !rc && i < f->info.nr_counters; i++) {
		snprintf(key, sizeof(key), "counter %u", i);
		rc = decode_sqlite_put_fact(s, key, f->info.counters[i], err);
	}
	for (t = 0; !rc && t < f->desc.nr_tags; t++) {
		char *tag = NULL;

		if (asprintf(&tag, "tag %s", f->desc.tags[t].key) < 0)
			return err_set(err, -ENOMEM, "no memory for a tag");
		rc = decode_sqlite_put_fact(s, tag, f->desc.tags[t].value, err);
		free(tag);
	}
	return rc;
}

/* ---- open and close ------------------------------------------------------ */

static int decode_sqlite_close(struct decode_writer *w, bool complete, struct err *err)
{
	struct decode_sqlite_state *s = w->state;
	struct stat st;
	size_t i;
	int rc = 0;

	if (!s)
		return 0;
	for (i = 0; i < w->file->desc.nr_frames; i++) {
		sqlite3_finalize(s->inserts[i]);
		free(s->tables[i]);
	}
	if (complete)
		rc = decode_sqlite_execute(s, "COMMIT", err);
	sqlite3_close(s->db);
	if (complete && !rc)
		rc = outfile_commit(&s->file, err);
	if (complete && !rc && stat(s->file.path, &st) == 0)
		w->bytes = (uint64_t)st.st_size;
	outfile_close(&s->file);
	free(s->inserts);
	free(s->tables);
	free(s);
	w->state = NULL;
	return rc;
}

static int decode_sqlite_make_tables(struct decode_writer *w, struct err *err)
{
	struct decode_sqlite_state *s = w->state;
	size_t i;
	int rc;

	/* The file is new, so there is nothing to roll back to. */
	rc = decode_sqlite_execute(s, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN",
				   err);
	if (!rc)
		rc = put_facts(s, w->file, err);
	for (i = 0; !rc && i < w->file->desc.nr_frames; i++)
		rc = decode_sqlite_make_table(s, &w->plans[i], i, err);
	return rc;
}

static int refuse_existing(const char *out, struct err *err)
{
	struct stat st;

	if (stat(out, &st) < 0 || !st.st_size)
		return 0;
	err_set(err, -EEXIST, "'%s' exists already", out);
	err_hint(err, "remove it, or name another file");
	return -EEXIST;
}

static int decode_sqlite_open(struct decode_writer *w, const char *out, struct err *err)
{
	size_t nr = w->file->desc.nr_frames;
	struct decode_sqlite_state *s;
	int rc;

	if (refuse_existing(out, err) < 0)
		return err->code;
	s = calloc(1, sizeof(*s));
	if (s) {
		s->inserts = calloc(nr, sizeof(sqlite3_stmt *)); // NOLINT
		s->tables = calloc(nr, sizeof(char *));          // NOLINT
	}
	if (!s || !s->inserts || !s->tables) {
		if (s) {
			free(s->inserts);
			free(s->tables);
		}
		free(s);
		return err_set(err, -ENOMEM, "no memory for a database");
	}
	w->state = s;
	rc = outfile_reserve(&s->file, out, err);
	if (!rc && sqlite3_open(s->file.temporary, &s->db) != SQLITE_OK)
		rc = decode_sqlite_set_failed(s, err);
	if (!rc)
		rc = decode_sqlite_make_tables(w, err);
	if (rc < 0)
		decode_sqlite_close(w, false, err);
	return rc;
}

/* ---- rows ---------------------------------------------------------------- */

/*
 * SQLite's integers are signed.  A larger value is stored as a blob of its digits: SQLite would
 * convert text to a number, and round it.
 */
static int bind_unsigned(sqlite3_stmt *st, int at, uint64_t u)
{
	char text[FMT_U64_MAX + FMT_SLACK];

	if (u <= INT64_MAX)
		return sqlite3_bind_int64(st, at, (sqlite3_int64)u);
	return sqlite3_bind_blob(st, at, text, (int)(fmt_u64(text, u) - text), SQLITE_TRANSIENT);
}

static int bind_text(sqlite3_stmt *st, int at, const struct row_value *v, bool guard)
{
	char *text;

	if (!guard || !text_is_formula(v->text, v->size))
		return sqlite3_bind_text(st, at, v->text, (int)v->size, SQLITE_TRANSIENT);
	text = sqlite3_mprintf("'%.*s", (int)v->size, v->text);
	return text ? sqlite3_bind_text(st, at, text, -1, sqlite3_free) : SQLITE_NOMEM;
}

static int decode_sqlite_bind(sqlite3_stmt *st, int at, const struct row_value *v, bool guard)
{
	switch (v->kind) {
	case ROW_SIGNED:
		return sqlite3_bind_int64(st, at, v->i);
	case ROW_UNSIGNED:
		return bind_unsigned(st, at, v->u);
	case ROW_BOOL:
		return sqlite3_bind_int(st, at, (int)v->u);
	case ROW_FLOAT:
		return sqlite3_bind_double(st, at, (double)v->f);
	case ROW_DOUBLE:
		return sqlite3_bind_double(st, at, v->d);
	case ROW_TEXT:
		return bind_text(st, at, v, guard);
	default:
		return sqlite3_bind_null(st, at);
	}
}

static int sqlite_frame(struct decode_writer *w, unsigned type, const uint8_t *image,
			uint64_t ticket, struct err *err)
{
	struct decode_sqlite_state *s = w->state;
	const struct row_plan *p = &w->plans[type];
	sqlite3_stmt *st = s->inserts[type];
	struct row_value v;
	size_t c;
	uint32_t i;
	int at = 1;

	for (c = 0; c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++) {
			row_get(p, &p->cells[c], i, image, ticket, &v);
			if (decode_sqlite_bind(st, at++, &v, p->guard) != SQLITE_OK)
				return decode_sqlite_set_failed(s, err);
		}
	}
	if (sqlite3_step(st) != SQLITE_DONE || sqlite3_reset(st) != SQLITE_OK)
		return decode_sqlite_set_failed(s, err);
	return 0;
}

const struct decode_writer decode_sqlite = {
	.name = "sqlite",
	.open = decode_sqlite_open,
	.frame = sqlite_frame,
	.close = decode_sqlite_close,
};

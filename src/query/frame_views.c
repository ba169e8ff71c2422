/* SPDX-License-Identifier: MIT */
/* frame_views.c - the frames of a trace by type, as views. */
#include "query/frame_views.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* More types are not shown by name; the table frames has them. */
#define FRAME_VIEWS_MAX 256

struct frame_view {
	char *type;
	char *fields; /* of the first frame: JSON, an object */
	char *name;   /* of the view; NULL: it was not created */
	char **columns;
	size_t nr_columns;
};

struct frame_views {
	struct frame_view list[FRAME_VIEWS_MAX];
	size_t nr;
};

int frame_views_take(struct query *q, const struct trace_frame *frame)
{
	struct frame_view *v;
	size_t i;

	if (!frame->type || !frame->fields)
		return 0;
	if (!q->views)
		q->views = calloc(1, sizeof(*q->views));
	if (!q->views)
		return -ENOMEM;
	for (i = 0; i < q->views->nr; i++) {
		if (!strcasecmp(q->views->list[i].type, frame->type))
			return 0;
	}
	if (i == FRAME_VIEWS_MAX)
		return 0;
	v = &q->views->list[q->views->nr++];
	v->type = strdup(frame->type);
	v->fields = strdup(frame->fields);
	return v->type && v->fields ? 0 : -ENOMEM;
}

/* A list of the fields as columns, from the keys of the first frame.  NULL: no memory. */
static char *frame_view_columns(sqlite3 *db, const struct frame_view *v)
{
	static const char sql[] = "SELECT group_concat(', json_extract(fields, ' || "
				  "quote(fullkey) || ') AS \"' || replace(key, '\"', '\"\"') || "
				  "'\"', '') FROM json_each(?) WHERE lower(key) NOT IN ('ticket', "
				  "'ts', 'pid', 'tid', 'probe_id', 'buffer')";
	sqlite3_stmt *st = NULL;
	char *columns = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
	    sqlite3_bind_text(st, 1, v->fields, -1, SQLITE_STATIC) == SQLITE_OK &&
	    sqlite3_step(st) == SQLITE_ROW)
		columns = sqlite3_mprintf("%s", sqlite3_column_text(st, 0));
	else
		columns = sqlite3_mprintf(""); /* the fields are not JSON */
	sqlite3_finalize(st);
	return columns;
}

static bool frame_view_is_taken(const struct query *q, const char *name)
{
	size_t i;

	for (i = 0; i < q->tables.nr; i++) {
		if (!strcasecmp(q->tables.list[i].name, name))
			return true;
	}
	return false;
}

static bool frame_view_name_columns(sqlite3 *db, struct frame_view *v)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", v->name);
	sqlite3_stmt *st = NULL;
	bool good = sql && sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK;
	size_t i, nr = good ? (size_t)sqlite3_column_count(st) : 0;

	v->columns = calloc(nr + 1, sizeof(char *)); // NOLINT
	for (i = 0; v->columns && i < nr; i++) {
		v->columns[i] = strdup(sqlite3_column_name(st, (int)i));
		v->nr_columns += v->columns[i] != NULL;
	}
	sqlite3_finalize(st);
	sqlite3_free(sql);
	return v->nr_columns == nr;
}

static int frame_view_create(sqlite3 *db, struct query *q, struct frame_view *v)
{
	char *columns = frame_view_columns(db, v), *sql;
	int rc;

	if (asprintf(&v->name, "frame_%s", v->type) < 0)
		v->name = NULL;
	sql = v->name && columns
		      ? sqlite3_mprintf("CREATE TEMP VIEW \"%w\" AS SELECT ticket, ts, pid, tid, "
					"probe_id, buffer%s FROM frames WHERE frame = %Q",
					v->name, columns, v->type)
		      : NULL;
	sqlite3_free(columns);
	if (!sql)
		return SQLITE_NOMEM;
	rc = frame_view_is_taken(q, v->name) ? SQLITE_OK : sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	if (rc != SQLITE_OK || !frame_view_name_columns(db, v)) {
		/* Names that SQLite does not accept: the table frames has the frames. */
		free(v->name);
		v->name = NULL;
	}
	return rc == SQLITE_NOMEM ? rc : SQLITE_OK;
}

int frame_views_create(sqlite3 *db, struct query *q)
{
	size_t i;
	int rc = SQLITE_OK;

	for (i = 0; q->views && rc == SQLITE_OK && i < q->views->nr; i++)
		rc = frame_view_create(db, q, &q->views->list[i]);
	return rc;
}

void frame_views_describe(const struct query *q, query_show_column *show, void *to)
{
	size_t i, c;

	for (i = 0; q->views && i < q->views->nr; i++) {
		const struct frame_view *v = &q->views->list[i];

		for (c = 0; v->name && c < v->nr_columns; c++)
			show(to, v->name, v->columns[c], "ANY");
	}
}

void frame_views_release(struct frame_views *views)
{
	size_t i, c;

	for (i = 0; views && i < views->nr; i++) {
		struct frame_view *v = &views->list[i];

		for (c = 0; c < v->nr_columns; c++)
			free(v->columns[c]);
		free(v->columns);
		free(v->type);
		free(v->fields);
		free(v->name);
	}
	free(views);
}

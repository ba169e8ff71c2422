/* SPDX-License-Identifier: MIT */
/*
 * event_table.c - a batch of events as a virtual table of SQLite.
 *
 * The columns are those of the existing coroTracer and never change, so they are written here and
 * not taken from the schema of the trace.
 */
#include "export/event_table.h"

#include <stdlib.h>

#include "base/fmt.h"

enum { PROBE_ID, TID, ADDR, SEQ, IS_ACTIVE, TS };

struct event_vtab {
	sqlite3_vtab base; /* first member: cast to and from */
	struct event_batch *batch;
};

struct event_cursor {
	sqlite3_vtab_cursor base; /* first member: cast to and from */
	size_t at;
};

static struct event_batch *batch_of(const struct event_cursor *c)
{
	return ((struct event_vtab *)(void *)c->base.pVtab)->batch;
}

static int event_table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			       sqlite3_vtab **vtab, char **error)
{
	struct event_vtab *v = calloc(1, sizeof(*v));

	(void)argc;
	(void)argv;
	(void)error;
	if (!v)
		return SQLITE_NOMEM;
	v->batch = aux;
	*vtab = &v->base;
	return sqlite3_declare_vtab(db, "CREATE TABLE x(probe_id, tid, addr, seq, is_active, ts)");
}

static int event_table_disconnect(sqlite3_vtab *vtab)
{
	free(vtab);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	(void)vtab;
	info->estimatedCost = EVENT_TABLE_BATCH;
	info->estimatedRows = EVENT_TABLE_BATCH;
	return SQLITE_OK;
}

static int event_table_open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct event_cursor *c = calloc(1, sizeof(*c));

	(void)vtab;
	if (!c)
		return SQLITE_NOMEM;
	*cursor = &c->base;
	return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
	free(cursor);
	return SQLITE_OK;
}

static struct event_cursor *cursor_of(sqlite3_vtab_cursor *cursor)
{
	return (struct event_cursor *)(void *)cursor;
}

static int event_table_filter(sqlite3_vtab_cursor *cursor, int number, const char *text, int argc,
			      sqlite3_value **argv)
{
	(void)number;
	(void)text;
	(void)argc;
	(void)argv;
	cursor_of(cursor)->at = 0;
	return SQLITE_OK;
}

static int event_table_next(sqlite3_vtab_cursor *cursor)
{
	cursor_of(cursor)->at++;
	return SQLITE_OK;
}

static int is_at_end(sqlite3_vtab_cursor *cursor)
{
	const struct event_cursor *c = cursor_of(cursor);

	return c->at >= batch_of(c)->nr;
}

static void event_table_put_text(sqlite3_context *to, const char *text, const char *end)
{
	sqlite3_result_text(to, text, (int)(end - text), SQLITE_TRANSIENT);
}

static void event_table_put_number(sqlite3_context *to, struct event_batch *b, uint64_t u)
{
	char text[FMT_U64_MAX + FMT_SLACK];

	if (!sqlite_number_is_large(u)) {
		sqlite3_result_int64(to, (sqlite3_int64)u);
		return;
	}
	b->large++;
	sqlite3_result_blob(to, text, (int)(fmt_u64(text, u) - text), SQLITE_TRANSIENT);
}

static int event_table_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int nr)
{
	struct event_batch *b = batch_of(cursor_of(cursor));
	const struct event_row *row = &b->rows[cursor_of(cursor)->at];
	char text[FMT_U64_MAX + FMT_SLACK] = "0x";

	switch (nr) {
	case PROBE_ID:
		event_table_put_text(to, text, fmt_u64(text, row->probe_id));
		break;
	case TID:
		event_table_put_number(to, b, row->tid);
		break;
	case ADDR:
		event_table_put_text(to, text, fmt_hex16(text + 2, row->addr));
		break;
	case SEQ:
		event_table_put_number(to, b, row->seq);
		break;
	case IS_ACTIVE:
		sqlite3_result_int(to, row->is_active);
		break;
	default:
		event_table_put_number(to, b, row->ts);
	}
	return SQLITE_OK;
}

static int event_table_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	*id = (sqlite3_int64)cursor_of(cursor)->at;
	return SQLITE_OK;
}

/* Without xCreate: an eponymous table that is in no schema. */
static const sqlite3_module module = {
	.xConnect = event_table_connect,
	.xBestIndex = best_index,
	.xDisconnect = event_table_disconnect,
	.xOpen = event_table_open_cursor,
	.xClose = close_cursor,
	.xFilter = event_table_filter,
	.xNext = event_table_next,
	.xEof = is_at_end,
	.xColumn = event_table_column,
	.xRowid = event_table_rowid,
};

int event_table_register(sqlite3 *db, struct event_batch *batch)
{
	return sqlite3_create_module(db, EVENT_TABLE_NAME, &module, batch);
}

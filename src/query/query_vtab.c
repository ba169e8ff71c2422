/* SPDX-License-Identifier: MIT */
/*
 * query_vtab.c - the tables of a query as virtual tables of SQLite.
 *
 * When SQLite plans a statement, query_vtab_plan() accepts the conditions that a scan can use, and
 * notes them as two letters each in the plan's text: which column, which comparison; before them,
 * the columns of a GROUP BY.  When a scan begins, query_cursor_filter() gets the values.  SQLite
 * still checks every row.
 */
#include "query/query_vtab.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "query/grouped_rows.h"

struct query_vtab {
	sqlite3_vtab base; /* first member: cast to and from */
	struct query *query;
	const struct query_table *table;
};

struct query_cursor {
	sqlite3_vtab_cursor base; /* first member: cast to and from */
	struct query_rows *rows;  /* NULL: none */
	bool is_at_end;
	sqlite3_int64 number;
	struct err err; /* not on the stack: a row is too cheap to clear it */
};

/* What a module gets when it is registered. */
struct query_module {
	struct query *query;
	size_t table;
};

static struct query_vtab *query_vtab_of(sqlite3_vtab *vtab)
{
	return (struct query_vtab *)(void *)vtab;
}

static struct query_cursor *query_cursor_of(sqlite3_vtab_cursor *cursor)
{
	return (struct query_cursor *)(void *)cursor;
}

/* Hands the message to SQLite, which returns it as the statement's. */
static int query_vtab_failed(sqlite3_vtab *vtab, const struct err *err)
{
	sqlite3_free(vtab->zErrMsg);
	vtab->zErrMsg = sqlite3_mprintf("%s", err->text);
	return SQLITE_ERROR;
}

/* ---- declaration --------------------------------------------------------------- */

const char *query_vtab_type(enum column_type type)
{
	switch (type) {
	case COLUMN_ADDR:
	case COLUMN_TEXT:
		return "TEXT";
	case COLUMN_REAL:
		return "REAL";
	default:
		return "INTEGER";
	}
}

static int query_vtab_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			      sqlite3_vtab **vtab, char **error)
{
	const struct query_module *module = aux;
	const struct query_table *t = &module->query->tables.list[module->table];
	struct query_vtab *v = calloc(1, sizeof(*v));
	sqlite3_str *sql = sqlite3_str_new(db);
	char *text;
	size_t i;
	int rc;

	(void)argc;
	(void)argv;
	(void)error;
	for (i = 0; i < t->nr_columns; i++)
		sqlite3_str_appendf(sql, "%s\"%w\" %s%s", i ? ", " : "CREATE TABLE x(",
				    t->columns[i].name, query_vtab_type(t->columns[i].type),
				    t->columns[i].is_hidden ? " HIDDEN" : "");
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	module->query->is_declaring = true;
	rc = v && text ? sqlite3_declare_vtab(db, text) : SQLITE_NOMEM;
	module->query->is_declaring = false;
	sqlite3_free(text);
	if (rc != SQLITE_OK) {
		free(v);
		return rc;
	}
	v->query = module->query;
	v->table = t;
	*vtab = &v->base;
	return SQLITE_OK;
}

static int query_vtab_disconnect(sqlite3_vtab *vtab)
{
	free(query_vtab_of(vtab));
	return SQLITE_OK;
}

/* ---- plan ---------------------------------------------------------------------- */

#define PLAN_TEXT_MAX  128 /* 64 conditions */
#define PLAN_KEYS_SIZE 8   /* the columns of GROUP BY, as bits in hexadecimal, come first */

/* The letter of a comparison; 0: not for scans. */
static char query_plan_comparison(unsigned char op)
{
	switch (op) {
	case SQLITE_INDEX_CONSTRAINT_EQ:
		return '=';
	case SQLITE_INDEX_CONSTRAINT_GT:
		return '>';
	case SQLITE_INDEX_CONSTRAINT_GE:
		return 'g';
	case SQLITE_INDEX_CONSTRAINT_LT:
		return '<';
	case SQLITE_INDEX_CONSTRAINT_LE:
		return 'l';
	default:
		return 0;
	}
}

static bool query_plan_takes(enum query_push push, char comparison)
{
	if (push == QUERY_PUSH_NONE || !comparison)
		return false;
	return push == QUERY_PUSH_TIME || push == QUERY_PUSH_END || comparison == '=';
}

/* True: the list of an IN comes as a whole, and needs one scan. */
static bool query_plan_takes_list(sqlite3_index_info *info, int i, enum query_push push)
{
#if SQLITE_VERSION_NUMBER >= 3038000
	return push == QUERY_PUSH_KIND && sqlite3_vtab_in(info, i, 1);
#else
	(void)info;
	(void)i;
	(void)push;
	return false;
#endif
}

/* How much of the table a condition leaves, about. */
static double query_plan_share(enum query_push push, char comparison)
{
	switch (push) {
	case QUERY_PUSH_TIME:
		return comparison == '=' ? 0.001 : 0.2;
	case QUERY_PUSH_COROUTINE:
		return 0.01;
	case QUERY_PUSH_SITE:
		return 0.2;
	case QUERY_PUSH_KIND:
	case QUERY_PUSH_ACTIVE:
		return 0.4;
	default:
		return 0.9;
	}
}

/* A table with few rows finds one of them; of others a scan is long, but for a compact trace. */
static void query_plan_estimate(const struct query_vtab *v, sqlite3_index_info *info, double share)
{
	bool is_compact = v->query->trace.format == TRACE_FORMAT_CT;
	double all = (double)v->query->trace.estimated;

	if (v->table->has_few_rows) {
		info->estimatedCost = share < 1 ? 10 : 10000;
		info->estimatedRows = share < 1 ? 1 : 1000;
		return;
	}
	info->estimatedCost = 10000 + all * (is_compact ? share : 1);
	info->estimatedRows = 1 + (sqlite3_int64)(all * share);
}

/*
 * The columns of a GROUP BY that rows are to be grouped by, as bits; 0: rows come as they are, and
 * SQLite sorts them if it must.
 */
static uint32_t query_plan_groups(const struct query_vtab *v, sqlite3_index_info *info)
{
	uint32_t keys = 0;
#if SQLITE_VERSION_NUMBER >= 3038000
	int i;

	if (!info->nOrderBy || sqlite3_vtab_distinct(info) != 1 || info->colUsed >> 30)
		return 0;
	for (i = 0; i < info->nOrderBy; i++) {
		if (info->aOrderBy[i].iColumn < 0 || info->aOrderBy[i].iColumn >= 30)
			return 0;
		keys |= UINT32_C(1) << info->aOrderBy[i].iColumn;
	}
	if (!grouped_rows_can(v->query, v->table, keys, (uint32_t)info->colUsed))
		return 0;
#else
	(void)v;
	(void)info;
#endif
	return keys;
}

static int query_vtab_plan(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
	const struct query_vtab *v = query_vtab_of(vtab);
	char text[PLAN_TEXT_MAX + 1];
	double share = 1;
	size_t used = 0;
	uint32_t keys;
	int i;

	for (i = 0; i < info->nConstraint && used < PLAN_TEXT_MAX; i++) {
		const struct sqlite3_index_constraint *c = &info->aConstraint[i];
		char comparison = query_plan_comparison(c->op);
		enum query_push push;

		if (!c->usable || c->iColumn < 0)
			continue;
		push = v->table->columns[c->iColumn].push;
		if (!query_plan_takes(push, comparison) ||
		    strcmp(sqlite3_vtab_collation(info, i), "BINARY") != 0)
			continue;
		share *= query_plan_share(push, comparison);
		if (query_plan_takes_list(info, i, push))
			comparison = 'i';
		text[used++] = (char)('a' + push);
		text[used++] = comparison;
		info->aConstraintUsage[i].argvIndex = (int)(used / 2);
	}
	text[used] = '\0';
	keys = query_plan_groups(v, info);
	info->orderByConsumed = keys != 0;
	info->idxStr = sqlite3_mprintf("%08x%s", keys, text);
	info->needToFreeIdxStr = 1;
	info->idxNum = (int)((info->colUsed & 0x3fffffff) | (info->colUsed >> 30 ? 0x40000000 : 0));
	query_plan_estimate(v, info, share);
	return info->idxStr ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- what a statement wants ------------------------------------------------------ */

/* Sets the bounds for "column comparison value"; wider ones are allowed. */
static void query_want_range(struct query_want *w, uint64_t *from, uint64_t *to, char comparison,
			     sqlite3_value *value)
{
	bool is_real = sqlite3_value_numeric_type(value) == SQLITE_FLOAT;
	double real = sqlite3_value_double(value);
	sqlite3_int64 low = 0, high = 0;

	if (real < 0 || (is_real && !(real < 9e18))) {
		w->nothing |= real < 0 && strchr("=<l", comparison);
		return;
	}
	low = is_real ? (sqlite3_int64)floor(real) : sqlite3_value_int64(value);
	high = is_real ? (sqlite3_int64)ceil(real) : low;
	if (!is_real && comparison == '>' && low < INT64_MAX)
		low++;
	if (!is_real && comparison == '<') {
		w->nothing |= high == 0;
		high -= high > 0;
	}
	if (strchr("=>g", comparison) && (uint64_t)low > *from)
		*from = (uint64_t)low;
	if (strchr("=<l", comparison) && (uint64_t)high < *to)
		*to = (uint64_t)high;
}

static void query_want_time(struct query_want *w, enum query_push push, char comparison,
			    sqlite3_value *value)
{
	int type = sqlite3_value_numeric_type(value);
	uint64_t unused = 0;

	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		return;
	query_want_range(w, push == QUERY_PUSH_TIME ? &w->from_ts : &unused,
			 push == QUERY_PUSH_TIME ? &w->to_ts : &w->end_ts, comparison, value);
}

/* The kinds of a value: none, if there is no such kind. */
static unsigned query_want_kind(sqlite3_value *value)
{
	const char *name = (const char *)sqlite3_value_text(value);
	int kind = -1;

	if (name && sqlite3_value_type(value) == SQLITE_TEXT)
		kind = trace_kind_from_name(name, (size_t)sqlite3_value_bytes(value));
	return kind < 0 ? 0 : 1u << kind;
}

static unsigned query_want_kinds(sqlite3_value *value, bool is_list)
{
	unsigned kinds = 0;
#if SQLITE_VERSION_NUMBER >= 3038000
	sqlite3_value *one;
	int rc;

	for (rc = is_list ? sqlite3_vtab_in_first(value, &one) : SQLITE_DONE; rc == SQLITE_OK;
	     rc = sqlite3_vtab_in_next(value, &one))
		kinds |= query_want_kind(one);
#endif
	return is_list ? kinds : query_want_kind(value);
}

static void query_want_number(struct query_want *w, enum query_push push, sqlite3_value *value)
{
	sqlite3_int64 number = sqlite3_value_int64(value);

	if (sqlite3_value_numeric_type(value) != SQLITE_INTEGER)
		return;
	if (push == QUERY_PUSH_ACTIVE) {
		w->kinds &= number == 1   ? 1u << TRACE_RESUME
			    : number == 0 ? 1u << TRACE_SUSPEND
					  : 0;
	} else if (number < 0) {
		w->nothing = true;
	} else if (push == QUERY_PUSH_COROUTINE) {
		w->nothing |= w->has_coroutine && w->coroutine != (uint64_t)number;
		w->has_coroutine = true;
		w->coroutine = (uint64_t)number;
	} else if (push == QUERY_PUSH_SITE && number > 0 && number <= UINT32_MAX) {
		w->nothing |= w->has_site && w->site != (uint32_t)number;
		w->has_site = true;
		w->site = (uint32_t)number;
	}
}

static struct query_want query_want_from(int used, const char *plan, int argc, sqlite3_value **argv)
{
	struct query_want w = { .to_ts = UINT64_MAX,
				.end_ts = UINT64_MAX,
				.kinds = QUERY_ALL_KINDS,
				.used = (uint32_t)used };
	int i;

	for (i = 0; i < argc; i++) {
		enum query_push push = (enum query_push)(*plan++ - 'a');
		char comparison = *plan++;

		/* No comparison with NULL is true; a list is not a value. */
		if (comparison != 'i' && sqlite3_value_type(argv[i]) == SQLITE_NULL)
			w.nothing = true;
		else if (push == QUERY_PUSH_KIND)
			w.kinds &= query_want_kinds(argv[i], comparison == 'i');
		else if (push == QUERY_PUSH_TIME || push == QUERY_PUSH_END)
			query_want_time(&w, push, comparison, argv[i]);
		else
			query_want_number(&w, push, argv[i]);
	}
	w.nothing |= !w.kinds || w.from_ts > w.to_ts;
	return w;
}

/* ---- cursor -------------------------------------------------------------------- */

static int query_cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **cursor)
{
	struct query_cursor *c = calloc(1, sizeof(*c));

	(void)vtab;
	if (!c)
		return SQLITE_NOMEM;
	*cursor = &c->base;
	return SQLITE_OK;
}

static void query_cursor_end_scan(struct query_cursor *c)
{
	if (c->rows)
		c->rows->ops->close(c->rows);
	c->rows = NULL;
	c->is_at_end = true;
}

static int query_cursor_close(sqlite3_vtab_cursor *cursor)
{
	query_cursor_end_scan(query_cursor_of(cursor));
	free(cursor);
	return SQLITE_OK;
}

static int query_cursor_next(sqlite3_vtab_cursor *cursor)
{
	struct query_cursor *c = query_cursor_of(cursor);
	int rc = c->rows->ops->next(c->rows, &c->err);

	c->number++;
	if (rc < 0)
		return query_vtab_failed(cursor->pVtab, &c->err);
	if (rc == 0)
		query_cursor_end_scan(c);
	return SQLITE_OK;
}

static int query_cursor_filter(sqlite3_vtab_cursor *cursor, int used, const char *plan, int argc,
			       sqlite3_value **argv)
{
	struct query_cursor *c = query_cursor_of(cursor);
	const struct query_vtab *v = query_vtab_of(cursor->pVtab);
	struct query_want want = query_want_from(used, plan + PLAN_KEYS_SIZE, argc, argv);
	char text[PLAN_KEYS_SIZE + 1] = "";
	struct err err = { 0 };
	uint32_t keys;

	memcpy(text, plan, PLAN_KEYS_SIZE);
	keys = (uint32_t)strtoul(text, NULL, 16);

	query_cursor_end_scan(c);
	c->number = 0;
	if (want.nothing)
		return SQLITE_OK;
	c->rows = keys ? grouped_rows_scan(v->query, v->table, &want, keys, &err)
		       : v->table->scan(v->query, v->table, &want, &err);
	if (!c->rows)
		return query_vtab_failed(cursor->pVtab, &err);
	c->is_at_end = false;
	return query_cursor_next(cursor);
}

static int query_cursor_is_at_end(sqlite3_vtab_cursor *cursor)
{
	return query_cursor_of(cursor)->is_at_end;
}

static int query_cursor_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *id)
{
	*id = query_cursor_of(cursor)->number;
	return SQLITE_OK;
}

/* ---- cells --------------------------------------------------------------------- */

/* Integers of SQLite are signed: a larger number is a blob of its digits, as in an export. */
static void query_cell_unsigned(sqlite3_context *to, enum column_type type, uint64_t u)
{
	char text[FMT_U64_MAX + FMT_SLACK] = "0x";

	if (type == COLUMN_ADDR)
		sqlite3_result_text(to, text, (int)(fmt_hex16(text + 2, u) - text),
				    SQLITE_TRANSIENT);
	else if (u <= INT64_MAX)
		sqlite3_result_int64(to, (sqlite3_int64)u);
	else
		sqlite3_result_blob(to, text, (int)(fmt_u64(text, u) - text), SQLITE_TRANSIENT);
}

static int query_cursor_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int number)
{
	struct query_cursor *c = query_cursor_of(cursor);
	const struct query_table *t = query_vtab_of(cursor->pVtab)->table;
	struct cell cell = { .kind = CELL_NULL };

	c->rows->ops->cell(c->rows, (size_t)number, &cell);
	switch (cell.kind) {
	case CELL_UNSIGNED:
	case CELL_BOOL:
		query_cell_unsigned(to, t->columns[number].type, cell.u);
		break;
	case CELL_SIGNED:
		sqlite3_result_int64(to, cell.i);
		break;
	case CELL_FLOAT:
		sqlite3_result_double(to, (double)cell.f);
		break;
	case CELL_DOUBLE:
		sqlite3_result_double(to, cell.d);
		break;
	case CELL_TEXT:
		sqlite3_result_text64(to, cell.text, cell.size,
				      t->columns[number].is_static ? SQLITE_STATIC
								   : SQLITE_TRANSIENT,
				      SQLITE_UTF8);
		break;
	case CELL_NULL:
		sqlite3_result_null(to);
		break;
	}
	return SQLITE_OK;
}

/* Without xCreate: eponymous tables that are in no schema, and cannot be created. */
static const sqlite3_module query_vtab_module = {
	.xConnect = query_vtab_connect,
	.xBestIndex = query_vtab_plan,
	.xDisconnect = query_vtab_disconnect,
	.xOpen = query_cursor_open,
	.xClose = query_cursor_close,
	.xFilter = query_cursor_filter,
	.xNext = query_cursor_next,
	.xEof = query_cursor_is_at_end,
	.xColumn = query_cursor_column,
	.xRowid = query_cursor_rowid,
};

int query_vtab_register(sqlite3 *db, struct query *q)
{
	int rc = SQLITE_OK;
	size_t i;

	for (i = 0; rc == SQLITE_OK && i < q->tables.nr; i++) {
		struct query_module *module = malloc(sizeof(*module));

		if (!module)
			return SQLITE_NOMEM;
		*module = (struct query_module){ q, i };
		/* Frees the module in every case. */
		rc = sqlite3_create_module_v2(db, q->tables.list[i].name, &query_vtab_module,
					      module, free);
	}
	return rc;
}

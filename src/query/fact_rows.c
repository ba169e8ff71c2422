/* SPDX-License-Identifier: MIT */
/*
 * fact_rows.c - the tables of facts: coroutines, sites, switches, frames, gaps, the run.
 *
 * Their columns follow from the schema of the trace, as those of an export do.  A table that an
 * export has as well has the same columns, but for the run: it is last here, and hidden.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/coroutine_rows.h"
#include "trace/schema.h"

/* Facts that a finished trace returns before its events. */
#define FACT_TYPES_FIRST                                                              \
	(1u << TRACE_ITEM_RUN | 1u << TRACE_ITEM_PROCESS | 1u << TRACE_ITEM_SITE |    \
	 1u << TRACE_ITEM_SWITCH | 1u << TRACE_ITEM_FRAME | 1u << TRACE_ITEM_MEMORY | \
	 1u << TRACE_ITEM_PART)

/* Facts about memory are of two sorts, with a table each. */
enum fact_sort { FACT_ALL, FACT_STAMP, FACT_FILE };

static const struct {
	const char *name;
	enum trace_item_type type;
	enum table_id exported; /* TABLE_EVENTS: none */
	enum fact_sort sort;
} fact_tables[] = {
	{ "coroutines", TRACE_ITEM_COROUTINE, TABLE_COROUTINES, FACT_ALL },
	{ "sites", TRACE_ITEM_SITE, TABLE_SITES, FACT_ALL },
	{ "switches", TRACE_ITEM_SWITCH, TABLE_SWITCHES, FACT_ALL },
	{ "frames", TRACE_ITEM_FRAME, TABLE_FRAMES, FACT_ALL },
	{ "gaps", TRACE_ITEM_GAP, TABLE_EVENTS, FACT_ALL },
	{ "processes", TRACE_ITEM_PROCESS, TABLE_EVENTS, FACT_ALL },
	{ "run", TRACE_ITEM_RUN, TABLE_EVENTS, FACT_ALL },
	{ "totals", TRACE_ITEM_TOTALS, TABLE_EVENTS, FACT_ALL },
	{ "parts", TRACE_ITEM_PART, TABLE_EVENTS, FACT_ALL },
	{ "memory", TRACE_ITEM_MEMORY, TABLE_EVENTS, FACT_STAMP },
	{ "memory_traces", TRACE_ITEM_MEMORY, TABLE_EVENTS, FACT_FILE },
};

#define NR_FACT_TABLES (sizeof(fact_tables) / sizeof(fact_tables[0]))

/* The columns of all of them. */
struct query_facts {
	struct query_column columns[NR_FACT_TABLES][2 * TABLE_COLUMNS_MAX];
	const struct schema_field *fields[NR_FACT_TABLES][2 * TABLE_COLUMNS_MAX];
};

struct fact_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query *query;
	const struct schema_field *const *fields; /* by column; NULL: the run */
	enum trace_item_type type;
	enum fact_sort sort;
	struct trace_filter filter;
	struct query_scan scan;
	struct trace_item item;
	const void *record; /* of the current row */
	/* Of sites, which are in memory: the next one, and the end. */
	size_t site, end;
};

/* ---- cells --------------------------------------------------------------------- */

static struct cell fact_rows_value(const struct schema_field *f, const void *record)
{
	const char *text;

	if (schema_column_may_be_null(f) && !schema_is_reported(f, record))
		return query_null();
	switch ((enum schema_type)f->type) {
	case SCHEMA_TEXT:
		text = *(const char *const *)((const char *)record + f->offset);
		return query_word(text ? text : f->otherwise);
	case SCHEMA_REASON:
	case SCHEMA_STATE:
	case SCHEMA_KIND:
		return query_word(schema_word(f, schema_number(f, record)));
	case SCHEMA_INT:
		return (struct cell){ .kind = CELL_SIGNED,
				      .i = *(const int *)(const void *)((const char *)record +
									f->offset) };
	default:
		return cell_u64(schema_number(f, record));
	}
}

static void fact_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	const struct fact_rows *r = (const struct fact_rows *)rows;
	uint64_t realtime = r->query->trace.realtime;

	*c = r->fields[column] ? fact_rows_value(r->fields[column], r->record)
			       : query_number(realtime, realtime);
}

/* ---- rows ---------------------------------------------------------------------- */

static bool fact_rows_has(const struct fact_rows *r)
{
	return r->item.type == r->type &&
	       (r->sort == FACT_ALL || (r->sort == FACT_FILE) == (r->item.memory.file != NULL));
}

static int fact_rows_next(struct query_rows *rows, struct err *err)
{
	struct fact_rows *r = (struct fact_rows *)rows;
	bool is_first = FACT_TYPES_FIRST >> r->type & 1 && !r->query->trace.is_growing;
	int rc;

	if (r->type == TRACE_ITEM_SITE) {
		if (r->site >= r->end)
			return 0;
		r->record = &r->query->trace.sites[r->site++].site;
		return 1;
	}
	while ((rc = query_scan_next(&r->scan, &r->item, err)) > 0) {
		if (fact_rows_has(r))
			return 1;
		if (r->item.type == TRACE_ITEM_EVENT && is_first)
			return 0;
	}
	return rc;
}

static void fact_rows_close(struct query_rows *rows)
{
	struct fact_rows *r = (struct fact_rows *)rows;

	query_scan_end(&r->scan);
	free(r);
}

static const struct query_rows_ops fact_rows_ops = { .next = fact_rows_next,
						     .cell = fact_rows_cell,
						     .close = fact_rows_close };

/* All sites, or the one that is wanted. */
static void fact_rows_choose_sites(struct fact_rows *r, const struct query_want *want)
{
	const struct query_trace *t = &r->query->trace;
	uint64_t number;

	r->end = t->nr_sites;
	if (!want->has_site)
		return;
	r->end = 0;
	if (u64map_get(&t->numbers, want->site, &number)) {
		r->site = number - 1;
		r->end = number;
	}
}

/* Facts about times outside of the wanted range are not read. */
static void fact_rows_set_filter(struct fact_rows *r, const struct query_want *want)
{
	r->filter = query_no_events;
	r->filter.has_from = want->from_ts > 0;
	r->filter.from_ns = want->from_ts;
	r->filter.has_to = want->to_ts < UINT64_MAX;
	r->filter.to_ns = want->to_ts;
}

static struct query_rows *fact_rows_scan(struct query *q, const struct query_table *t,
					 const struct query_want *want, struct err *err)
{
	struct fact_rows *r = calloc(1, sizeof(*r));
	bool is_compact = q->trace.format == TRACE_FORMAT_CT;

	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
		return NULL;
	}
	r->rows.ops = &fact_rows_ops;
	r->query = q;
	r->type = fact_tables[t->number].type;
	r->sort = fact_tables[t->number].sort;
	r->fields = q->facts->fields[t->number];
	r->record = schema_const_record_of(&r->item);
	if (r->type == TRACE_ITEM_SITE) {
		fact_rows_choose_sites(r, want);
		return &r->rows;
	}
	fact_rows_set_filter(r, want);
	if (query_scan_begin(&r->scan, q, is_compact ? &r->filter : NULL, err) == 0)
		return &r->rows;
	fact_rows_close(&r->rows);
	return NULL;
}

/* ---- columns ------------------------------------------------------------------- */

static enum column_type fact_column_type(const struct schema_field *f)
{
	switch ((enum schema_type)f->type) {
	case SCHEMA_ID:
		return COLUMN_ID;
	case SCHEMA_ADDR:
		return COLUMN_ADDR;
	case SCHEMA_INT:
		return COLUMN_I64;
	case SCHEMA_U64:
	case SCHEMA_U32:
	case SCHEMA_BOOL:
		return COLUMN_U64;
	default:
		return COLUMN_TEXT;
	}
}

static enum query_push fact_column_push(const char *name, enum trace_item_type type)
{
	if (type == TRACE_ITEM_COROUTINE && !strcmp(name, "probe_id"))
		return QUERY_PUSH_COROUTINE;
	if (type == TRACE_ITEM_SITE && !strcmp(name, "site"))
		return QUERY_PUSH_SITE;
	if (type == TRACE_ITEM_MEMORY && !strcmp(name, "from_ts"))
		return QUERY_PUSH_TIME;
	return QUERY_PUSH_NONE;
}

/* A stamp has no file, and a file no thread. */
static bool fact_sort_has(enum fact_sort sort, const char *key)
{
	static const char *const of_file[] = { "size", "lost", "file", "build_id" };
	static const char *const of_stamp[] = { "tid", "probe_id", "offset" };
	size_t i;

	for (i = 0; sort == FACT_STAMP && i < sizeof(of_file) / sizeof(of_file[0]); i++) {
		if (!strcmp(key, of_file[i]))
			return false;
	}
	for (i = 0; sort == FACT_FILE && i < sizeof(of_stamp) / sizeof(of_stamp[0]); i++) {
		if (!strcmp(key, of_stamp[i]))
			return false;
	}
	return true;
}

/* Sets the columns of table @number; returns how many there are. */
static size_t fact_rows_set_columns(struct query_facts *facts, size_t number)
{
	enum trace_item_type type = fact_tables[number].type;
	bool is_exported = fact_tables[number].exported != TABLE_EVENTS;
	struct query_column *columns = facts->columns[number];
	const struct schema_field **fields = facts->fields[number];
	size_t i, nr = 0;

	for (i = 0; i < schema[type].nr; i++) {
		const struct schema_field *f = &schema[type].fields[i];
		size_t at = is_exported ? f->column - 1u : nr;
		const char *name = is_exported && f->column_name ? f->column_name : f->key;

		if ((is_exported && !f->column) || !name || f->type == SCHEMA_COMMAND ||
		    !fact_sort_has(fact_tables[number].sort, name))
			continue;
		columns[at] = (struct query_column){ .name = name,
						     .type = fact_column_type(f),
						     .push = fact_column_push(name, type) };
		fields[at] = f;
		nr++;
	}
	if (is_exported)
		columns[nr++] = (struct query_column){ .name = "run",
						       .type = COLUMN_U64,
						       .is_hidden = true };
	return nr;
}

int fact_rows_add(struct query *q, struct err *err)
{
	bool good;
	size_t i;

	q->facts = calloc(1, sizeof(*q->facts));
	good = q->facts != NULL;
	for (i = 0; good && i < NR_FACT_TABLES; i++) {
		bool is_coroutines = fact_tables[i].type == TRACE_ITEM_COROUTINE;
		struct query_table table = { .name = fact_tables[i].name,
					     .columns = q->facts->columns[i],
					     .nr_columns = fact_rows_set_columns(q->facts, i),
					     .has_few_rows = true,
					     .number = (unsigned)i,
					     .scan = is_coroutines ? coroutine_rows_scan
								   : fact_rows_scan };

		good = query_tables_add(q, &table);
	}
	return good ? 0 : err_set(err, -ENOMEM, "no memory for a table");
}

void fact_rows_release(struct query_facts *facts)
{
	free(facts);
}

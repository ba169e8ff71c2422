/* SPDX-License-Identifier: MIT */
/* event_rows.c - the table of events: every event of the trace, with the columns of an export. */
#include <errno.h>
#include <stdlib.h>

#include "export/detail_rows.h"
#include "query/query_table.h"
#include "trace/trace_context.h"

enum event_column {
	EVENT_PROBE_ID,
	EVENT_TID,
	EVENT_ADDR,
	EVENT_SEQ,
	EVENT_IS_ACTIVE,
	EVENT_TS,
	EVENT_KIND,
	EVENT_STATION,
	EVENT_SITE,
	EVENT_REASON,
	EVENT_RESOURCE,
	EVENT_PEER,
	EVENT_FLAGS,
	EVENT_PID,
	EVENT_NAME,
	EVENT_RUN,
	EVENT_PART,
	NR_EVENT_COLUMNS,
};

static const struct query_column event_rows_columns[NR_EVENT_COLUMNS] = {
	[EVENT_PROBE_ID] = { "probe_id", COLUMN_ID, QUERY_PUSH_COROUTINE, false, false },
	[EVENT_TID] = { "tid", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[EVENT_ADDR] = { "addr", COLUMN_ADDR, QUERY_PUSH_NONE, false, false },
	[EVENT_SEQ] = { "seq", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[EVENT_IS_ACTIVE] = { "is_active", COLUMN_BOOL, QUERY_PUSH_ACTIVE, false, false },
	[EVENT_TS] = { "ts", COLUMN_U64, QUERY_PUSH_TIME, false, false },
	[EVENT_KIND] = { "kind", COLUMN_TEXT, QUERY_PUSH_KIND, false, true },
	[EVENT_STATION] = { "station", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[EVENT_SITE] = { "site", COLUMN_U64, QUERY_PUSH_SITE, false, false },
	[EVENT_REASON] = { "reason", COLUMN_TEXT, QUERY_PUSH_NONE, false, false },
	[EVENT_RESOURCE] = { "resource", COLUMN_ID, QUERY_PUSH_NONE, false, false },
	[EVENT_PEER] = { "peer", COLUMN_ID, QUERY_PUSH_NONE, false, false },
	[EVENT_FLAGS] = { "flags", COLUMN_TEXT, QUERY_PUSH_NONE, false, true },
	[EVENT_PID] = { "pid", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[EVENT_NAME] = { "name", COLUMN_TEXT, QUERY_PUSH_NONE, false, false },
	[EVENT_PART] = { "part", COLUMN_U64, QUERY_PUSH_NONE, true, false },
	[EVENT_RUN] = { "run", COLUMN_U64, QUERY_PUSH_NONE, true, false },
};

/* Columns that a reader has without the rest of the event: see struct trace_filter. */
#define EVENT_LIGHT                                                                    \
	(1u << EVENT_TID | 1u << EVENT_IS_ACTIVE | 1u << EVENT_TS | 1u << EVENT_KIND | \
	 1u << EVENT_RUN)

struct event_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query_filter filter;
	struct query_scan scan;
	struct trace_item item;
	struct cell kinds[NR_TRACE_KINDS]; /* their names */
	char reason[16];
	char context[TRACE_CONTEXT_TEXT];
};

struct cell query_reason(unsigned reason, char buf[16])
{
	const char *name = trace_reason_name(reason);

	if (!reason)
		return query_null();
	if (!name)
		snprintf(buf, 16, "%u", reason);
	return query_word(name ? name : buf);
}

/* The name of a created coroutine, or the traceparent of a context. */
static struct cell event_rows_name(struct event_rows *r, const struct trace_event *ev)
{
	struct trace_context context;

	if (ev->kind != TRACE_CONTEXT)
		return ev->name_size ? cell_text(ev->name, ev->name_size) : query_null();
	if (!trace_context_of(ev, &context))
		return query_null();
	trace_context_format(&context, r->context);
	return query_word(r->context);
}

static int event_rows_next(struct query_rows *rows, struct err *err)
{
	struct event_rows *r = (struct event_rows *)rows;
	int rc;

	do {
		rc = query_scan_next(&r->scan, &r->item, err);
	} while (rc > 0 && r->item.type != TRACE_ITEM_EVENT);
	return rc;
}

static void event_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	struct event_rows *r = (struct event_rows *)rows;
	const struct trace_event *ev = &r->item.event;
	uint64_t part;

	switch ((enum event_column)column) {
	case EVENT_PROBE_ID:
		*c = cell_u64(ev->probe_id);
		break;
	case EVENT_TID:
		*c = cell_u64(ev->tid);
		break;
	case EVENT_ADDR:
		*c = query_number(trace_is_transition(ev) || ev->addr, ev->addr);
		break;
	case EVENT_SEQ:
		*c = query_number(trace_is_transition(ev) || ev->seq, ev->seq);
		break;
	case EVENT_IS_ACTIVE:
		*c = query_number(trace_is_transition(ev), ev->kind == TRACE_RESUME);
		break;
	case EVENT_TS:
		*c = cell_u64(ev->ts);
		break;
	case EVENT_KIND:
		*c = r->kinds[ev->kind];
		break;
	case EVENT_STATION:
		*c = query_number(ev->station != TRACE_NO_STATION, ev->station);
		break;
	case EVENT_SITE:
		*c = query_number(ev->site, ev->site);
		break;
	case EVENT_REASON:
		*c = query_reason(ev->reason, r->reason);
		break;
	case EVENT_RESOURCE:
		*c = query_number(ev->flags & TRACE_HAS_RESOURCE, ev->resource);
		break;
	case EVENT_PEER:
		*c = query_number(ev->peer, ev->peer);
		break;
	case EVENT_FLAGS:
		*c = query_word(rows_flags_text(ev));
		break;
	case EVENT_PID:
		*c = query_number(ev->pid, ev->pid);
		break;
	case EVENT_NAME:
		*c = event_rows_name(r, ev);
		break;
	case EVENT_RUN:
		*c = query_number(r->scan.query->trace.realtime, r->scan.query->trace.realtime);
		break;
	case EVENT_PART:
		part = trace_parts_of(&r->scan.query->trace.parts, &r->item);
		*c = query_number(part, part);
		break;
	case NR_EVENT_COLUMNS:
		break;
	}
}

static void event_rows_close(struct query_rows *rows)
{
	struct event_rows *r = (struct event_rows *)rows;

	query_scan_end(&r->scan);
	query_filter_release(&r->filter);
	free(r);
}

static void event_rows_count_kinds(struct query_rows *rows, uint64_t counts[NR_TRACE_KINDS])
{
	struct event_rows *r = (struct event_rows *)rows;

	if (r->filter.filter.is_light)
		trace_count_kinds(r->scan.reader, counts);
}

static const struct query_rows_ops event_rows_ops = { .next = event_rows_next,
						      .cell = event_rows_cell,
						      .close = event_rows_close,
						      .count_kinds = event_rows_count_kinds };

static struct query_rows *event_rows_scan(struct query *q, const struct query_table *t,
					  const struct query_want *want, struct err *err)
{
	struct event_rows *r = calloc(1, sizeof(*r));
	unsigned kind;

	(void)t;
	if (!r || !query_filter_set(&r->filter, &q->trace, want)) {
		free(r);
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
		return NULL;
	}
	r->rows.ops = &event_rows_ops;
	for (kind = 0; kind < NR_TRACE_KINDS; kind++)
		r->kinds[kind] = query_word(trace_kind_name(kind));
	r->filter.filter.is_light = !(want->used & ~EVENT_LIGHT) && !want->has_coroutine &&
				    !want->has_site;
	if (query_scan_begin(&r->scan, q, &r->filter.filter, err) == 0)
		return &r->rows;
	event_rows_close(&r->rows);
	return NULL;
}

int event_rows_add(struct query *q, struct err *err)
{
	const struct query_table table = { .name = "events",
					   .columns = event_rows_columns,
					   .nr_columns = NR_EVENT_COLUMNS,
					   .scan = event_rows_scan };

	return query_tables_add(q, &table) ? 0 : err_set(err, -ENOMEM, "no memory for a table");
}

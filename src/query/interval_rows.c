/* SPDX-License-Identifier: MIT */
/*
 * interval_rows.c - the tables of waits and slices: what a coroutine did between two transitions.
 *
 * A wait begins with a suspend, a slice with a resume; both end with the next transition, end or
 * destroy of the same coroutine.  This needs no history: a scan that begins in the middle of a
 * trace finds the same intervals from there on.
 *
 * Reading less
 *   Intervals that begin in a range of time: the scan begins with the range, and stops behind it
 * when the last of them has ended.  Of an indexed trace, the ends of the few that are left are
 * looked up one by one, through the blocks that have their coroutine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "query/query_table.h"
#include "query/slice_switches.h"
#include "trace/coro_table.h"

/* How many open intervals are looked up one by one, and how many events behind the range they must
 * still be open for that: most end soon, and each lookup reads the facts of the trace again. */
#define INTERVAL_LOOKUPS 64
#define INTERVAL_EVENTS  65536

enum interval_column {
	INTERVAL_PROBE_ID,
	INTERVAL_FROM_TS,
	INTERVAL_TO_TS,
	INTERVAL_DURATION,
	INTERVAL_TID,
	INTERVAL_SITE,
	INTERVAL_REASON,
	INTERVAL_RESOURCE,
	INTERVAL_ADDR,
	INTERVAL_ENDED_BY,
	INTERVAL_STATION,
	/* Of waits: */
	INTERVAL_TO_TID,
	INTERVAL_WOKEN_TS,
	INTERVAL_WAKER,
	/* Of slices, in the same places: */
	INTERVAL_CPU = INTERVAL_TO_TID,
	INTERVAL_QUEUED,
	INTERVAL_BLOCKED,
	NR_INTERVAL_COLUMNS,
};

#define INTERVAL_COMMON                                                                      \
	[INTERVAL_PROBE_ID] = { "probe_id", COLUMN_ID, QUERY_PUSH_COROUTINE, false, false }, \
	[INTERVAL_FROM_TS] = { "from_ts", COLUMN_U64, QUERY_PUSH_TIME, false, false },       \
	[INTERVAL_TO_TS] = { "to_ts", COLUMN_U64, QUERY_PUSH_END, false, false },            \
	[INTERVAL_DURATION] = { "duration_ns", COLUMN_U64, QUERY_PUSH_NONE, false, false },  \
	[INTERVAL_TID] = { "tid", COLUMN_U64, QUERY_PUSH_NONE, false, false },               \
	[INTERVAL_SITE] = { "site", COLUMN_U64, QUERY_PUSH_SITE, false, false },             \
	[INTERVAL_REASON] = { "reason", COLUMN_TEXT, QUERY_PUSH_NONE, false, false },        \
	[INTERVAL_RESOURCE] = { "resource", COLUMN_ID, QUERY_PUSH_NONE, false, false },      \
	[INTERVAL_ADDR] = { "addr", COLUMN_ADDR, QUERY_PUSH_NONE, false, false },            \
	[INTERVAL_ENDED_BY] = { "ended_by", COLUMN_TEXT, QUERY_PUSH_NONE, false, true },     \
	[INTERVAL_STATION] = { "station", COLUMN_U64, QUERY_PUSH_NONE, false, false }

static const struct query_column wait_columns[NR_INTERVAL_COLUMNS] = {
	INTERVAL_COMMON,
	[INTERVAL_TO_TID] = { "to_tid", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[INTERVAL_WOKEN_TS] = { "woken_ts", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[INTERVAL_WAKER] = { "waker", COLUMN_ID, QUERY_PUSH_NONE, false, false },
};

static const struct query_column slice_columns[NR_INTERVAL_COLUMNS] = {
	INTERVAL_COMMON,
	[INTERVAL_CPU] = { "cpu_ns", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[INTERVAL_QUEUED] = { "queued_ns", COLUMN_U64, QUERY_PUSH_NONE, false, false },
	[INTERVAL_BLOCKED] = { "blocked_ns", COLUMN_U64, QUERY_PUSH_NONE, false, false },
};

#define INTERVAL_LAST_THREE (1u << INTERVAL_TO_TID | 1u << INTERVAL_WOKEN_TS | 1u << INTERVAL_WAKER)

#define INTERVAL_RECENT     256u

/* An interval that has begun. */
struct interval {
	struct coro_state state; /* first member: an entry of a coro_table */
	uint64_t from_ts, tid;
	uint64_t woken_ts, waker;
	/* Of the suspend: it begins a wait, and ends a slice. */
	uint64_t addr, resource;
	uint32_t site;
	uint8_t reason;
	bool has_resource, has_suspend;
	bool is_open;
	/* Of the end. */
	bool has_ended;
	uint64_t to_ts, to_tid;
	const char *ended_by;
};

struct interval_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query *query;
	struct query_want want;
	struct query_filter filter, lookup;
	struct query_scan scan;
	enum trace_kind begin;          /* TRACE_SUSPEND: waits; TRACE_RESUME: slices */
	struct coro_table open;         /* coroutines with an interval that is open, or was */
	size_t recent[INTERVAL_RECENT]; /* slots in it, by the number of the coroutine */
	size_t nr_open;
	size_t nr_behind; /* events behind the range */
	size_t slot;      /* after the scan: the next open interval */
	struct interval row;
	bool needs_switches;
	struct slice_switches switches;
	struct slice_shares parts;
	bool has_parts;
	char reason[16];
};

/* ---- from events to intervals ------------------------------------------------ */

static void interval_set_suspend(struct interval *i, const struct trace_event *ev)
{
	i->addr = ev->addr;
	i->site = ev->site;
	i->reason = ev->reason;
	i->resource = ev->resource;
	i->has_resource = ev->flags & TRACE_HAS_RESOURCE;
	i->has_suspend = true;
}

/* The site of a slice is where it ends. */
static bool interval_is_wanted(const struct interval_rows *r, const struct trace_event *ev)
{
	return ev->ts >= r->want.from_ts && ev->ts <= r->want.to_ts &&
	       (r->begin == TRACE_RESUME || !r->want.has_site || ev->site == r->want.site);
}

/* The entry of the event's coroutine, with an open interval or not; NULL: it has none. */
static struct interval *interval_find(struct interval_rows *r, const struct trace_event *ev)
{
	size_t *recent = &r->recent[ev->probe_id % INTERVAL_RECENT];
	struct interval *i = *recent < r->open.room ? coro_table_at(&r->open, *recent) : NULL;

	if (i && i->state.probe_id == ev->probe_id && i->state.station == ev->station)
		return i;
	i = coro_table_find(&r->open, ev->probe_id, ev->station);
	if (i)
		*recent = coro_table_slot(&r->open, i);
	return i;
}

static int interval_begin(struct interval_rows *r, const struct trace_event *ev)
{
	struct interval *i;

	if (!interval_is_wanted(r, ev))
		return 0;
	i = interval_find(r, ev);
	if (!i)
		i = coro_table_enter(&r->open, ev->probe_id, ev->station);
	if (!i)
		return -ENOMEM;
	memset((char *)i + sizeof(i->state), 0, sizeof(*i) - sizeof(i->state));
	i->is_open = true;
	i->from_ts = ev->ts;
	i->tid = ev->tid;
	if (r->begin == TRACE_SUSPEND)
		interval_set_suspend(i, ev);
	r->nr_open++;
	return 0;
}

/* The next event after the begin.  An equal one: the event that ended the interval is missing. */
static void interval_end(struct interval_rows *r, struct interval *i, const struct trace_event *ev)
{
	bool is_lost = ev->kind == r->begin;

	r->row = *i;
	r->row.has_ended = !is_lost;
	r->row.to_ts = ev->ts;
	r->row.to_tid = ev->tid;
	r->row.ended_by = is_lost ? "lost" : trace_kind_name(ev->kind);
	if (r->begin == TRACE_RESUME && ev->kind == TRACE_SUSPEND)
		interval_set_suspend(&r->row, ev);
	i->is_open = false;
	if (!trace_is_transition(ev))
		coro_table_remove(&r->open, i);
	r->nr_open--;
}

static bool interval_is_ending(const struct trace_event *ev)
{
	return trace_is_transition(ev) || ev->kind == TRACE_END || ev->kind == TRACE_DESTROY;
}

/* 1: an interval ended, and is in r->row; 0; or a negative errno. */
static int interval_take(struct interval_rows *r, const struct trace_event *ev)
{
	struct interval *i = interval_find(r, ev);
	bool has_ended = false;
	int rc = 0;

	if (i && !i->is_open)
		i = NULL;
	if (i && ev->ts < i->from_ts)
		return 0; /* out of order */
	if (i && ev->kind == TRACE_WAKE && !i->woken_ts) {
		i->woken_ts = ev->ts;
		i->waker = ev->peer;
	}
	if (i && interval_is_ending(ev)) {
		interval_end(r, i, ev);
		has_ended = true;
	}
	if (ev->kind == r->begin)
		rc = interval_begin(r, ev);
	return rc < 0 ? rc : has_ended;
}

/* ---- the scan --------------------------------------------------------------- */

/* Behind the range, with nothing left to wait for or only a few to look up. */
static bool interval_can_stop(struct interval_rows *r, const struct trace_event *ev)
{
	if (ev->ts <= r->want.to_ts || !query_trace_is_ordered(&r->query->trace))
		return false;
	return !r->nr_open || (r->query->trace.has_index && ++r->nr_behind > INTERVAL_EVENTS &&
			       r->nr_open <= INTERVAL_LOOKUPS);
}

static int interval_no_memory(const struct interval_rows *r, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the coroutines of '%s'", r->query->trace.path);
}

/* 1: a row is there; 0: the scan is over; or a negative errno. */
static int interval_rows_read(struct interval_rows *r, struct err *err)
{
	struct trace_item item;
	int rc;

	while ((rc = query_scan_next(&r->scan, &item, err)) > 0) {
		if (item.type == TRACE_ITEM_SWITCH && r->needs_switches)
			rc = slice_switches_add(&r->switches, &item.switched);
		if (rc >= 0 && item.type != TRACE_ITEM_EVENT)
			continue;
		if (rc >= 0 && interval_can_stop(r, &item.event))
			return 0;
		rc = rc < 0 ? rc : interval_take(r, &item.event);
		if (rc < 0)
			return interval_no_memory(r, err);
		if (rc > 0)
			return 1;
	}
	return rc;
}

/* Finds the end of r->row, whose begin is in the range, in the rest of the trace. */
static int interval_find_end(struct interval_rows *r, struct err *err)
{
	struct interval *i = coro_table_find(&r->open, r->row.state.probe_id, r->row.state.station);
	struct query_scan scan;
	struct trace_item item;
	int rc;

	r->lookup.filter = r->filter.filter;
	r->lookup.filter.has_coroutine = true;
	r->lookup.filter.coroutine = r->row.state.probe_id;
	/* The event at which the scan stopped may be the end: it is behind the range. */
	r->lookup.filter.has_from = true;
	r->lookup.filter.from_ns = r->want.to_ts + 1;
	rc = query_scan_begin(&scan, r->query, &r->lookup.filter, err);
	while (i && rc >= 0 && (rc = query_scan_next(&scan, &item, err)) > 0) {
		const struct trace_event *ev = &item.event;

		if (item.type != TRACE_ITEM_EVENT || ev->station != i->state.station)
			continue;
		if (ev->kind == TRACE_WAKE && !i->woken_ts) {
			i->woken_ts = ev->ts;
			i->waker = ev->peer;
		}
		if (interval_is_ending(ev)) {
			interval_end(r, i, ev);
			i = NULL;
		} else {
			r->row = *i;
		}
	}
	query_scan_end(&scan);
	return rc < 0 ? rc : 0;
}

/* After the scan: the intervals that it left open.  1, 0 at the end, or a negative errno. */
static int interval_rows_rest(struct interval_rows *r, struct err *err)
{
	bool was_stopped = !r->scan.has_ended;
	const struct interval *i = NULL;
	int rc = 0;

	while (r->slot < r->open.room && !i) {
		i = coro_table_at(&r->open, r->slot++);
		if (i && !i->is_open)
			i = NULL;
	}
	if (!i)
		return 0;
	r->row = *i;
	if (was_stopped)
		rc = interval_find_end(r, err);
	return rc < 0 ? rc : 1;
}

static void interval_rows_measure(struct interval_rows *r)
{
	if (!r->needs_switches)
		return;
	r->has_parts = r->row.has_ended &&
		       slice_switches_split(&r->switches, r->row.tid, r->row.from_ts, r->row.to_ts,
					    &r->parts);
}

static int interval_rows_next(struct query_rows *rows, struct err *err)
{
	struct interval_rows *r = (struct interval_rows *)rows;
	int rc = r->slot ? 0 : interval_rows_read(r, err);

	if (rc == 0)
		rc = interval_rows_rest(r, err);
	if (rc > 0)
		interval_rows_measure(r);
	return rc;
}

/* ---- cells ------------------------------------------------------------------ */

static struct cell interval_last_three(const struct interval_rows *r, enum interval_column column)
{
	const struct interval *i = &r->row;
	bool is_wait = r->begin == TRACE_SUSPEND;

	if (column == INTERVAL_TO_TID)
		return is_wait ? query_number(i->has_ended, i->to_tid)
			       : query_number(r->has_parts, r->parts.cpu_ns);
	if (column == INTERVAL_WOKEN_TS)
		return is_wait ? query_number(i->woken_ts, i->woken_ts)
			       : query_number(r->has_parts, r->parts.queued_ns);
	return is_wait ? query_number(i->waker, i->waker)
		       : query_number(r->has_parts, r->parts.blocked_ns);
}

static void interval_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	struct interval_rows *r = (struct interval_rows *)rows;
	const struct interval *i = &r->row;

	switch ((enum interval_column)column) {
	case INTERVAL_PROBE_ID:
		*c = cell_u64(i->state.probe_id);
		break;
	case INTERVAL_FROM_TS:
		*c = cell_u64(i->from_ts);
		break;
	case INTERVAL_TO_TS:
		*c = query_number(i->has_ended, i->to_ts);
		break;
	case INTERVAL_DURATION:
		*c = query_number(i->has_ended, i->to_ts - i->from_ts);
		break;
	case INTERVAL_TID:
		*c = cell_u64(i->tid);
		break;
	case INTERVAL_SITE:
		*c = query_number(i->site, i->site);
		break;
	case INTERVAL_REASON:
		*c = query_reason(i->reason, r->reason);
		break;
	case INTERVAL_RESOURCE:
		*c = query_number(i->has_resource, i->resource);
		break;
	case INTERVAL_ADDR:
		*c = query_number(i->has_suspend, i->addr);
		break;
	case INTERVAL_ENDED_BY:
		*c = query_word(i->ended_by);
		break;
	case INTERVAL_STATION:
		*c = query_number(i->state.station != TRACE_NO_STATION, i->state.station);
		break;
	default:
		*c = interval_last_three(r, (enum interval_column)column);
		break;
	}
}

/* ---- the tables -------------------------------------------------------------- */

static void interval_rows_close(struct query_rows *rows)
{
	struct interval_rows *r = (struct interval_rows *)rows;

	query_scan_end(&r->scan);
	query_filter_release(&r->filter);
	coro_table_release(&r->open);
	slice_switches_release(&r->switches);
	free(r);
}

static const struct query_rows_ops interval_rows_ops = { .next = interval_rows_next,
							 .cell = interval_rows_cell,
							 .close = interval_rows_close };

/* Events that the scan needs for the wanted intervals. */
static struct query_want interval_events(const struct interval_rows *r)
{
	struct query_want events = r->want;

	events.kinds = 1u << TRACE_SUSPEND | 1u << TRACE_RESUME | 1u << TRACE_END |
		       1u << TRACE_DESTROY;
	if (r->begin == TRACE_SUSPEND && r->want.used & INTERVAL_LAST_THREE)
		events.kinds |= 1u << TRACE_WAKE;
	events.has_site = false;
	events.to_ts = r->want.end_ts;
	if (r->query->trace.format == TRACE_FORMAT_JSONL)
		events.from_ts = 0; /* it is read anyway, and may be out of order */
	return events;
}

static struct query_rows *interval_rows_scan(struct query *q, const struct query_table *t,
					     const struct query_want *want, struct err *err)
{
	struct interval_rows *r = calloc(1, sizeof(*r));
	struct query_want events;

	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", q->trace.path);
		return NULL;
	}
	r->rows.ops = &interval_rows_ops;
	r->query = q;
	r->want = *want;
	r->begin = t->number;
	r->open.entry_size = sizeof(struct interval);
	r->needs_switches = r->begin == TRACE_RESUME && want->used & INTERVAL_LAST_THREE;
	events = interval_events(r);
	query_filter_set(&r->filter, &q->trace, &events);
	if (r->needs_switches)
		r->filter.filter.unwanted_facts &= ~(1u << TRACE_ITEM_SWITCH);
	if (query_scan_begin(&r->scan, q, &r->filter.filter, err) == 0)
		return &r->rows;
	interval_rows_close(&r->rows);
	return NULL;
}

int interval_rows_add(struct query *q, struct err *err)
{
	struct query_table table = { .name = "waits",
				     .columns = wait_columns,
				     .nr_columns = NR_INTERVAL_COLUMNS,
				     .number = TRACE_SUSPEND,
				     .scan = interval_rows_scan };
	bool good = query_tables_add(q, &table);

	table.name = "slices";
	table.columns = slice_columns;
	table.number = TRACE_RESUME;
	return good && query_tables_add(q, &table) ? 0
						   : err_set(err, -ENOMEM, "no memory for a table");
}

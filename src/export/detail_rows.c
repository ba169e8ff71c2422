/* SPDX-License-Identifier: MIT */
/* detail_rows.c - everything in a trace except the transitions, as rows. */
#include "export/detail_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "base/utf8.h"
#include "trace/coro_table.h"
#include "trace/schema_event.h"

/* A coroutine whose row is not written yet. */
struct row_life {
	struct coro_state state;
	uint64_t parent;
	uint64_t birth_ts, end_ts, destroy_ts; /* 0: not reported */
	uint32_t pid, birth_site;
	uint64_t written, lost;
	bool is_counted; /* written and lost are valid */
	char *name;      /* NULL: it has none */
};

struct rows {
	rows_put *put;
	void *to;
	uint64_t run; /* identifies the trace in a table of several traces */
	uint64_t count;
	struct coro_table lives; /* entries: struct row_life */
	char *texts[4];          /* of the row that is being created: names in valid UTF-8 */
	size_t sizes[4];
	unsigned nr_texts;
	char reason[12]; /* the same for a reason */
};

struct rows *rows_new(rows_put *put, void *to)
{
	struct rows *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->lives.entry_size = sizeof(struct row_life);
	r->put = put;
	r->to = to;
	r->run = monotonic_clock_ns(CLOCK_REALTIME);
	return r;
}

void rows_free(struct rows *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->lives.room; i++) {
		struct row_life *l = coro_table_at(&r->lives, i);

		if (l)
			free(l->name);
	}
	for (i = 0; i < sizeof(r->texts) / sizeof(r->texts[0]); i++)
		free(r->texts[i]);
	coro_table_release(&r->lives);
	free(r);
}

uint64_t rows_run(const struct rows *r)
{
	return r->run;
}

uint64_t rows_count(const struct rows *r)
{
	return r->count;
}

static int rows_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for the coroutines of the trace");
}

/* ---- cells --------------------------------------------------------------- */

static const struct cell null_cell;

/* A constant string. */
static struct cell rows_word(const char *text)
{
	return text ? cell_text(text, strlen(text)) : null_cell;
}

/* Untrusted text: invalid UTF-8 and NUL become U+FFFD.  False: no memory. */
static bool rows_is_unknown(struct rows *r, const char *text, size_t size, struct cell *cell)
{
	unsigned nr = r->nr_texts++;
	size_t at = 0, used = 0, need = 3 * size + 1;

	if (need > r->sizes[nr]) {
		char *bigger = realloc(r->texts[nr], need);

		if (!bigger)
			return false;
		r->texts[nr] = bigger;
		r->sizes[nr] = need;
	}
	while (at < size) {
		uint32_t cp;
		size_t len = utf8_next(text + at, size - at, &cp);

		if (cp == UTF8_BAD || !cp) {
			memcpy(r->texts[nr] + used, "\xef\xbf\xbd", 3);
			used += 3;
		} else {
			memcpy(r->texts[nr] + used, text + at, len);
			used += len;
		}
		at += len;
	}
	r->texts[nr][used] = '\0';
	*cell = cell_text(r->texts[nr], used);
	return true;
}

const char *rows_flags_text(const struct trace_event *ev)
{
	static const char *const names[] = {
		NULL,
		"destroyed",
		"was-suspended",
		"destroyed,was-suspended",
		"cancelled",
		"destroyed,cancelled",
		"was-suspended,cancelled",
		"destroyed,was-suspended,cancelled",
	};

	return names[(ev->flags & TRACE_DESTROYED ? 1 : 0) |
		     (ev->flags & TRACE_WAS_SUSPENDED ? 2 : 0) |
		     (ev->flags & TRACE_CANCELLED ? 4 : 0)];
}

/* By name, or by number for a reason of a later version. */
static struct cell reason_cell(struct rows *r, unsigned reason)
{
	const char *name = trace_reason_name(reason);

	if (!reason)
		return null_cell;
	if (!name)
		snprintf(r->reason, sizeof(r->reason), "%u", reason);
	return rows_word(name ? name : r->reason);
}

/* False: no memory. */
static inline __attribute__((always_inline)) bool
rows_cell(struct rows *r, const struct schema_field *f, const void *record, struct cell *cell)
{
	const char *text;

	*cell = null_cell;
	if (schema_column_may_be_null(f) && !schema_is_reported(f, record))
		return true;
	switch ((enum schema_type)f->type) {
	case SCHEMA_TEXT:
		/* A damaged sidecar may lack any text. */
		text = *(const char *const *)((const char *)record + f->offset);
		return !text || rows_is_unknown(r, text, strlen(text), cell);
	case SCHEMA_REASON:
		*cell = reason_cell(r, (unsigned)schema_number(f, record));
		return true;
	case SCHEMA_STATE:
	case SCHEMA_KIND:
		*cell = rows_word(schema_word(f, schema_number(f, record)));
		return true;
	case SCHEMA_FLAGS:
		*cell = rows_word(rows_flags_text(record));
		return true;
	default:
		*cell = cell_u64(schema_number(f, record));
		return true;
	}
}

static int rows_put_row(struct rows *r, enum table_id table, struct cell *cells, struct err *err)
{
	cells[0] = cell_u64(r->run);
	r->count++;
	r->nr_texts = 0;
	return r->put(r->to, table, cells, err);
}

/* Writes the row of @record, the struct of item.h for @type. */
static int rows_put_record(struct rows *r, enum table_id table, enum trace_item_type type,
			   const void *record, struct err *err)
{
	struct cell cells[TABLE_COLUMNS_MAX];
	size_t i;

	for (i = 0; i < schema[type].nr; i++) {
		const struct schema_field *f = &schema[type].fields[i];

		if (f->column && !rows_cell(r, f, record, &cells[f->column]))
			return rows_no_memory(err);
	}
	return rows_put_row(r, table, cells, err);
}

/* The same for an event: unrolled, because there may be as many as transitions. */
static int rows_put_event(struct rows *r, const struct trace_event *ev, struct err *err)
{
	struct cell cells[TABLE_COLUMNS_MAX];
	size_t i;

	SCHEMA_UNROLL
	for (i = 0; i < SCHEMA_EVENT_FIELDS; i++) {
		const struct schema_field *f = &schema_event_fields[i];

		if (f->column && !rows_cell(r, f, ev, &cells[f->column]))
			return rows_no_memory(err);
	}
	return rows_put_row(r, TABLE_DETAILS, cells, err);
}

/* False: the table of transitions has all of it. */
static bool tells_more(const struct trace_event *ev)
{
	return !trace_is_transition(ev) || ev->site || ev->reason || ev->flags ||
	       ev->station != TRACE_NO_STATION;
}

/* ---- coroutines ---------------------------------------------------------- */

/* Writes the row; @last has its last state and may be NULL. */
static int rows_put_life(struct rows *r, struct row_life *l, const struct sidecar_coroutine *last,
			 struct err *err)
{
	struct sidecar_coroutine row = last ? *last : (struct sidecar_coroutine){ 0 };
	int rc;

	row.probe_id = l->state.probe_id;
	row.station = l->state.station;
	row.pid = l->pid;
	row.name = l->name;
	row.parent = l->parent;
	row.birth_ts = l->birth_ts;
	row.birth_site = l->birth_site;
	row.end_ts = l->end_ts;
	row.death_ts = l->destroy_ts;
	row.written = l->written;
	row.lost = l->lost;
	row.is_counted = l->is_counted;
	rc = rows_put_record(r, TABLE_COROUTINES, TRACE_ITEM_COROUTINE, &row, err);
	free(l->name);
	coro_table_remove(&r->lives, l);
	return rc;
}

/* Of a name that has a NUL, the NUL becomes a byte that is not UTF-8 either.  False: no memory. */
static bool set_name(struct row_life *l, const char *name, size_t size)
{
	char *nul;

	free(l->name);
	l->name = NULL;
	if (!size)
		return true;
	l->name = malloc(size + 1);
	if (!l->name)
		return false;
	memcpy(l->name, name, size);
	l->name[size] = '\0';
	while ((nul = memchr(l->name, '\0', size)))
		*nul = '\xff';
	return true;
}

static int rows_add_birth(struct rows *r, const struct trace_event *ev, struct err *err)
{
	struct row_life *l = coro_table_enter(&r->lives, ev->probe_id, ev->station);
	int rc;

	if (l && coro_step_of(&l->state, ev) == CORO_STEP_BORN_AGAIN) {
		rc = rows_put_life(r, l, NULL, err);
		if (rc < 0)
			return rc;
		l = coro_table_enter(&r->lives, ev->probe_id, ev->station);
	}
	if (!l)
		return rows_no_memory(err);
	coro_step_apply(&l->state, ev);
	l->birth_ts = ev->ts;
	l->birth_site = ev->site;
	l->parent = ev->peer;
	l->pid = ev->pid;
	return set_name(l, ev->name, ev->name_size) ? 0 : rows_no_memory(err);
}

static int rows_add_end(struct rows *r, const struct trace_event *ev, struct err *err)
{
	struct row_life *l = coro_table_enter(&r->lives, ev->probe_id, ev->station);
	bool is_gone = coro_event_destroys(ev);

	if (!l)
		return rows_no_memory(err);
	if (ev->kind == TRACE_END)
		l->end_ts = ev->ts;
	if (is_gone) {
		l->destroy_ts = ev->ts;
		l->written = ev->written;
		l->lost = ev->lost;
		l->is_counted = true;
	}
	return is_gone ? rows_put_life(r, l, NULL, err) : 0;
}

static int add_fact(struct rows *r, const struct sidecar_coroutine *fact, struct err *err)
{
	uint32_t station = fact->station < UINT32_MAX ? (uint32_t)fact->station : TRACE_NO_STATION;
	struct row_life *l = coro_table_enter(&r->lives, fact->probe_id, station);

	if (!l)
		return rows_no_memory(err);
	if (fact->birth_ts)
		l->birth_ts = fact->birth_ts;
	if (fact->birth_site)
		l->birth_site = fact->birth_site;
	if (fact->parent)
		l->parent = fact->parent;
	if (fact->pid && fact->pid <= UINT32_MAX)
		l->pid = (uint32_t)fact->pid;
	if (fact->dead)
		l->destroy_ts = fact->death_ts;
	/* The region holds only the start of a name; the birth event has the full name. */
	if (fact->name && !(fact->name_truncated && l->name) &&
	    !set_name(l, fact->name, strlen(fact->name)))
		return rows_no_memory(err);
	l->written = fact->written;
	l->lost = fact->lost;
	l->is_counted = true;
	return rows_put_life(r, l, fact, err);
}

/* ---- items --------------------------------------------------------------- */

static int rows_add_event(struct rows *r, const struct trace_event *ev, struct err *err)
{
	int rc = tells_more(ev) ? rows_put_event(r, ev, err) : 0;

	if (rc < 0)
		return rc;
	if (ev->kind == TRACE_BIRTH)
		return rows_add_birth(r, ev, err);
	if (ev->kind == TRACE_END || ev->kind == TRACE_DESTROY)
		return rows_add_end(r, ev, err);
	return 0;
}

int rows_item(struct rows *r, const struct trace_item *item, struct err *err)
{
	switch (item->type) {
	case TRACE_ITEM_RUN:
		if (item->run.start_realtime)
			r->run = item->run.start_realtime;
		return 0;
	case TRACE_ITEM_SITE:
		return rows_put_record(r, TABLE_SITES, TRACE_ITEM_SITE, &item->site, err);
	case TRACE_ITEM_SWITCH:
		return rows_put_record(r, TABLE_SWITCHES, TRACE_ITEM_SWITCH, &item->switched, err);
	case TRACE_ITEM_FRAME:
		return rows_put_record(r, TABLE_FRAMES, TRACE_ITEM_FRAME, &item->frame, err);
	case TRACE_ITEM_EVENT:
		return rows_add_event(r, &item->event, err);
	case TRACE_ITEM_COROUTINE:
		return add_fact(r, &item->coroutine, err);
	default:
		return 0;
	}
}

int rows_finish(struct rows *r, struct err *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < r->lives.room; i++) {
		struct row_life *l = coro_table_at(&r->lives, i);

		if (l)
			rc = rows_put_life(r, l, NULL, err);
	}
	return rc;
}

/* SPDX-License-Identifier: MIT */
/* section_coros.c - the sections "coros" and "strings": one row per coroutine. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "view/view_data.h"

struct row {
	double first, birth, end, since, waited, ready, ran, longest, woken;
	double cpu_measured, cpu_queued, cpu_blocked;
	uint32_t nr, id_lo, id_hi, station, pid, name, kind, state;
	uint32_t suspends, resumes, migrations, wakes, threads;
	uint32_t longest_site, site, reason, res_lo, res_hi, thread, parent, waker, lost, flags;
	uint32_t findings;
};

/* In the order of the columns. */
#define COLUMN(type, name)                                       \
	{                                                        \
#name, COLUMN_##type, offsetof(struct row, name) \
	}
static const struct {
	const char *name;
	enum view_column_type type;
	size_t offset;
} columns[] = {
	COLUMN(U32, nr),           COLUMN(U32, id_lo),      COLUMN(U32, id_hi),
	COLUMN(U32, station),      COLUMN(U32, pid),        COLUMN(U32, name),
	COLUMN(U32, kind),         COLUMN(F64, first),      COLUMN(F64, birth),
	COLUMN(F64, end),          COLUMN(U8, state),       COLUMN(F64, since),
	COLUMN(U32, suspends),     COLUMN(U32, resumes),    COLUMN(U32, migrations),
	COLUMN(U32, wakes),        COLUMN(U32, threads),    COLUMN(F64, waited),
	COLUMN(F64, ready),        COLUMN(F64, ran),        COLUMN(F64, longest),
	COLUMN(U32, longest_site), COLUMN(U32, site),       COLUMN(U8, reason),
	COLUMN(U32, res_lo),       COLUMN(U32, res_hi),     COLUMN(U32, thread),
	COLUMN(U32, parent),       COLUMN(U32, waker),      COLUMN(F64, woken),
	COLUMN(U32, lost),         COLUMN(U16, flags),      COLUMN(U32, findings),
	COLUMN(F64, cpu_measured), COLUMN(F64, cpu_queued), COLUMN(F64, cpu_blocked),
};
#define NR_COLUMNS (sizeof(columns) / sizeof(columns[0]))

static double value_of(const struct row *row, size_t column)
{
	const char *at = (const char *)row + columns[column].offset;

	if (columns[column].type == COLUMN_F64)
		return *(const double *)at;
	return (double)*(const uint32_t *)at;
}

/* Add the current wait or slice, up to the end of the view. */
static void add_present(const struct view *v, const struct view_record *rec, struct row *row)
{
	uint64_t end = v->end_ts, since = rec->suspended;

	if (rec->state == TRACE_STATE_RUNNING && rec->slice_number && end > rec->slice.start)
		row->ran += (double)(end - rec->slice.start);
	if (rec->state != TRACE_STATE_SUSPENDED && rec->state != TRACE_STATE_READY)
		return;
	if (end > since) {
		row->waited += (double)(end - since);
		if ((double)(end - since) > row->longest) {
			row->longest = (double)(end - since);
			row->longest_site = rec->site;
		}
	}
	if (rec->state == TRACE_STATE_READY && end > rec->woken)
		row->ready += (double)(end - rec->woken);
}

static struct row row_of(const struct view *v, const struct view_record *rec)
{
	struct row row = {
		.first = view_time(v, rec->first),
		.birth = view_time(v, rec->birth),
		.end = view_time(v, rec->end),
		.since = view_time(v, rec->since),
		.waited = (double)rec->waited,
		.ready = (double)rec->ready,
		.ran = (double)rec->ran,
		.longest = (double)rec->longest,
		.woken = view_time(v, rec->woken),
		.cpu_measured = (double)rec->cpu.ns,
		.cpu_queued = (double)rec->cpu.queued_ns,
		.cpu_blocked = (double)rec->cpu.blocked_ns,
		.nr = rec->number,
		.id_lo = (uint32_t)rec->probe_id,
		.id_hi = (uint32_t)(rec->probe_id >> 32),
		.station = rec->station,
		.pid = rec->pid,
		.name = rec->name,
		.kind = rec->kind,
		.state = rec->state,
		.suspends = rec->suspends,
		.resumes = rec->resumes,
		.migrations = rec->migrations,
		.wakes = rec->wakes,
		.threads = (uint32_t)__builtin_popcountll(rec->threads),
		.longest_site = rec->longest_site,
		.site = rec->site,
		.reason = rec->reason,
		.res_lo = (uint32_t)rec->resource,
		.res_hi = (uint32_t)(rec->resource >> 32),
		.thread = rec->thread,
		.parent = rec->parent,
		.waker = rec->waker,
		.lost = rec->lost,
		.flags = rec->flags,
		.findings = rec->findings | rec->findings_now,
	};

	add_present(v, rec, &row);
	return row;
}

int section_coros(struct view *v, size_t max, struct bytes *out, size_t *nr_kept)
{
	uint32_t *kept;
	int64_t nr = records_select(&v->records, max, &kept);
	struct view_columns c;
	size_t i, k;

	if (nr < 0)
		return -ENOMEM;
	columns_begin(&c);
	for (k = 0; k < NR_COLUMNS; k++)
		columns_add(&c, columns[k].name, columns[k].type, (size_t)nr);
	for (i = 0; i < (size_t)nr; i++) {
		struct row row = row_of(v, &v->records.all[kept[i]]);

		for (k = 0; k < NR_COLUMNS; k++)
			columns_set(&c, k, i, value_of(&row, k));
	}
	free(kept);
	*nr_kept = (size_t)nr;
	return columns_end(&c, (size_t)nr, out);
}

void coros_put_names(struct json_writer *j)
{
	size_t k;

	jw_array_begin(j);
	for (k = 0; k < NR_COLUMNS; k++)
		jw_string(j, columns[k].name);
	jw_array_end(j);
}

/* Timestamps of a corrupt trace may exceed 63 bits. */
static void section_coros_put_number(struct json_writer *j, double value)
{
	if (isnan(value))
		jw_null(j);
	else if (value < 0)
		jw_i64(j, value > -0x1p63 ? (int64_t)value : INT64_MIN);
	else
		jw_u64(j, value < 0x1p64 ? (uint64_t)value : UINT64_MAX);
}

void coros_put_row(const struct view *v, const struct view_record *rec, struct json_writer *j)
{
	struct row row = row_of(v, rec);
	size_t k;

	jw_array_begin(j);
	for (k = 0; k < NR_COLUMNS; k++)
		section_coros_put_number(j, value_of(&row, k));
	jw_array_end(j);
}

int section_strings(struct view *v, struct bytes *out)
{
	const struct strtab *names = &view_model(v)->names;
	struct json_writer j;
	size_t i;

	jw_init_buffer(&j);
	jw_array_begin(&j);
	jw_string(&j, "");
	for (i = 0; i < names->nr; i++)
		jw_string(&j, strtab_text(names, i));
	jw_array_end(&j);
	return view_take_json(&j, out);
}

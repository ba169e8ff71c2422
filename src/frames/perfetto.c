/* SPDX-License-Identifier: MIT */
/* perfetto.c - write a recording as trace events. */
#include "frames/perfetto.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/json_writer.h"
#include "base/progress.h"
#include "frames/rows.h"

struct export
{
	struct recfile file;
	struct row_plan *plans;
	struct json_writer w;
	FILE *out;
	struct perfetto_result *result;
};

/* ---- values -------------------------------------------------------------- */

static void put_value(struct json_writer *w, const struct row_value *v)
{
	switch (v->kind) {
	case ROW_SIGNED:
		jw_i64(w, v->i);
		break;
	case ROW_UNSIGNED:
		jw_u64(w, v->u);
		break;
	case ROW_BOOL:
		jw_bool(w, v->u != 0);
		break;
	case ROW_FLOAT:
		jw_double(w, (double)v->f);
		break;
	case ROW_DOUBLE:
		jw_double(w, v->d);
		break;
	case ROW_TEXT:
		jw_string_n(w, v->text, v->size);
		break;
	default:
		jw_null(w);
	}
}

static void put_args(struct export *x, const struct row_plan *p, const struct recfile_item *item)
{
	char name[DESC_NAME_MAX * 2 + 300];
	struct row_value v;
	size_t c;
	uint32_t i;

	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	for (c = 0; c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++) {
			row_get(p, &p->cells[c], i, item->image, item->ticket, &v);
			jw_key(&x->w, row_column_name(&p->cells[c], i, name, sizeof(name)));
			put_value(&x->w, &v);
		}
	}
	jw_object_end(&x->w);
}

/* Microseconds with three digits behind the point: that is what the format wants. */
static void put_time(struct export *x, const char *key, int64_t ns)
{
	jw_field_double(&x->w, key, (double)ns / 1000);
}

/* ---- events -------------------------------------------------------------- */

static void begin_event(struct export *x, const char *phase, const char *name, const char *category,
			int64_t ns)
{
	jw_object_begin(&x->w);
	jw_field_string(&x->w, "ph", phase);
	jw_field_string(&x->w, "name", name);
	jw_field_string(&x->w, "cat", category);
	jw_field_i64(&x->w, "pid", x->file.info.pid ? x->file.info.pid : 1);
	jw_field_u64(&x->w, "tid", 0);
	put_time(x, "ts", ns);
}

static void end_event(struct export *x)
{
	jw_object_end(&x->w);
}

/* Slices overlap as threads do: each has an id, and finds a row for itself. */
static void put_slice(struct export *x, const struct row_plan *p, const struct row_cell *cell,
		      const struct recfile_item *item, int64_t from, int64_t to)
{
	begin_event(x, "b", cell->field->member, p->frame->name, from);
	jw_field_u64(&x->w, "id", item->ticket);
	put_args(x, p, item);
	end_event(x);
	begin_event(x, "e", cell->field->member, p->frame->name, to);
	jw_field_u64(&x->w, "id", item->ticket);
	end_event(x);
	x->result->slices++;
}

static void put_instant(struct export *x, const struct row_plan *p, const struct recfile_item *item,
			int64_t at)
{
	begin_event(x, "i", p->frame->name, p->frame->name, at);
	jw_field_string(&x->w, "s", "p");
	put_args(x, p, item);
	end_event(x);
	x->result->instants++;
}

static bool is_time(const struct desc_field *f)
{
	return f && (f->type == DESC_TIME || f->type == DESC_TICKS);
}

/* Infinity, or no number at all, is no place on a track. */
static bool is_number(const struct row_value *v)
{
	return v->kind == ROW_SIGNED || v->kind == ROW_UNSIGNED ||
	       (v->kind == ROW_FLOAT && isfinite(v->f)) ||
	       (v->kind == ROW_DOUBLE && isfinite(v->d));
}

/* Numbers of a frame that has a moment and no duration. */
static void put_counters(struct export *x, const struct row_plan *p,
			 const struct recfile_item *item, int64_t at)
{
	char name[2 * DESC_NAME_MAX + 2];
	struct row_value v;
	size_t c;

	for (c = 0; c < p->nr_cells; c++) {
		const struct row_cell *cell = &p->cells[c];

		if (!cell->field || is_time(cell->field) || cell->count != 1)
			continue;
		row_get(p, cell, 0, item->image, item->ticket, &v);
		if (!is_number(&v))
			continue;
		snprintf(name, sizeof(name), "%s.%s", p->frame->name, cell->field->name);
		begin_event(x, "C", name, p->frame->name, at);
		jw_key(&x->w, "args");
		jw_object_begin(&x->w);
		jw_key(&x->w, "value");
		put_value(&x->w, &v);
		jw_object_end(&x->w);
		end_event(x);
		x->result->counters++;
	}
}

/* ---- frames -------------------------------------------------------------- */

static unsigned put_slices(struct export *x, const struct row_plan *p,
			   const struct recfile_item *item)
{
	unsigned nr = 0;
	size_t c;

	for (c = 0; c < p->nr_cells; c++) {
		const struct row_cell *cell = &p->cells[c];
		struct row_cell from = { .field = cell->start, .count = 1 };
		struct row_cell to = { .field = cell->field, .count = 1 };
		struct row_value start, end;

		if (!cell->start || !is_time(cell->field) || cell->count != 1)
			continue;
		row_get(p, &from, 0, item->image, item->ticket, &start);
		row_get(p, &to, 0, item->image, item->ticket, &end);
		if (start.kind != ROW_SIGNED || end.kind != ROW_SIGNED)
			continue;
		put_slice(x, p, cell, item, start.i, end.i);
		nr++;
	}
	return nr;
}

static bool first_time(const struct row_plan *p, const struct recfile_item *item, int64_t *at)
{
	struct row_value v;
	size_t c;

	for (c = 0; c < p->nr_cells; c++) {
		if (!is_time(p->cells[c].field) || p->cells[c].start)
			continue;
		row_get(p, &p->cells[c], 0, item->image, item->ticket, &v);
		if (v.kind == ROW_SIGNED) {
			*at = v.i;
			return true;
		}
	}
	return false;
}

static void put_frame(struct export *x, const struct recfile_item *item)
{
	const struct row_plan *p = &x->plans[item->type];
	int64_t at;

	if (put_slices(x, p, item))
		return;
	if (!first_time(p, item, &at)) {
		x->result->without_time++;
		return;
	}
	put_instant(x, p, item, at);
	put_counters(x, p, item, at);
}

/* The collector's clock is CLOCK_MONOTONIC; only beside frames of that clock it means something. */
static void put_mark(struct export *x, const struct recording_mark *mark)
{
	int clock = desc_clock_id(&x->file.desc);
	int64_t at = (int64_t)mark->time_ns;

	if (mark->kind != RECORDING_LOSS ||
	    (clock != CLOCK_MONOTONIC && x->file.desc.time != DESC_COUNTER_CLOCK))
		return;
	begin_event(x, "i", "frames lost", "corotracer",
		    at + x->file.info.delta_s * (int64_t)NS_PER_SEC);
	jw_field_string(&x->w, "s", "g");
	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	jw_field_u64(&x->w, "frames", mark->a);
	jw_object_end(&x->w);
	end_event(x);
}

static void put_process(struct export *x)
{
	begin_event(x, "M", "process_name", "__metadata", 0);
	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	jw_field_string(&x->w, "name",
			x->file.info.program ? x->file.info.program : x->file.desc.name);
	jw_object_end(&x->w);
	end_event(x);
}

/* ---- all of it ----------------------------------------------------------- */

static int make_plans(struct export *x, struct err *err)
{
	size_t i, nr = x->file.desc.nr_frames;

	x->plans = calloc(nr, sizeof(*x->plans));
	for (i = 0; x->plans && i < nr; i++) {
		if (row_plan_init(&x->plans[i], &x->file.desc, (unsigned)i, &x->file.info) < 0)
			break;
	}
	if (x->plans && i == nr)
		return 0;
	return err_set(err, -ENOMEM, "no memory for the columns of '%s'", x->file.name);
}

static int copy(struct export *x, struct err *err)
{
	struct progress progress;
	struct recfile_item item;
	uint64_t nr = 0;
	int rc;

	jw_init_file(&x->w, x->out);
	jw_object_begin(&x->w);
	jw_key(&x->w, "traceEvents");
	jw_array_begin(&x->w);
	put_process(x);
	progress_start(&progress, x->file.name, x->file.total);
	while ((rc = recfile_next(&x->file, &item, err)) > 0) {
		if (++nr % 4096 == 0)
			progress_update(&progress, x->file.read);
		if (item.mark)
			put_mark(x, item.mark);
		else
			put_frame(x, &item);
		if (x->w.error)
			break;
	}
	progress_end(&progress);
	jw_array_end(&x->w);
	jw_object_end(&x->w);
	jw_newline(&x->w);
	return rc < 0 ? rc : 0;
}

static int write_file(struct export *x, const char *out, struct err *err)
{
	int rc = make_plans(x, err), failed;

	if (rc < 0)
		return rc;
	x->out = strcmp(out, "-") != 0 ? fopen(out, "we") : stdout;
	if (!x->out)
		return err_errno(err, "cannot create '%s'", out);
	rc = copy(x, err);
	failed = jw_release(&x->w);
	if (x->out != stdout && fclose(x->out) != 0 && !failed)
		failed = -errno;
	if (!rc && failed)
		rc = err_set(err, failed, "cannot write '%s': %s", out, strerror(-failed));
	return rc;
}

int perfetto_export(const char *in, const char *out, struct perfetto_result *result,
		    struct err *err)
{
	struct export x = { .result = result };
	size_t i;
	int rc;

	memset(result, 0, sizeof(*result));
	rc = recfile_open(&x.file, in, err);
	if (rc < 0)
		return rc;
	rc = write_file(&x, out, err);
	result->stats = x.file.stats;
	for (i = 0; x.plans && i < x.file.desc.nr_frames; i++)
		row_plan_release(&x.plans[i]);
	free(x.plans);
	recfile_close(&x.file);
	return rc;
}

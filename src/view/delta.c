/* SPDX-License-Identifier: MIT */
/* delta.c - what changed in a view since a tick, for pages that show a running trace. */
#include <errno.h>
#include <stdlib.h>

#include "view/view_data.h"

/* If more coroutines changed, the page requests the whole section. */
#define ROWS_MAX 2000u

static int put_series(struct json_writer *j, struct view *v, uint64_t since)
{
	size_t nr, from;
	struct series_point *points = series_points(&v->series, v->end_ts, &nr);
	const struct axis *ax = &v->series.axis;

	if (!points)
		return -ENOMEM;
	from = series_changed_from(&v->series, since, nr);
	jw_key(j, "series");
	jw_object_begin(j);
	jw_field_i64(j, "start", nr ? view_offset(v, axis_start(ax, 0)) : 0);
	jw_field_u64(j, "width", axis_width(ax));
	jw_field_i64(j, "end", view_offset(v, v->end_ts));
	jw_field_u64(j, "from", from);
	jw_key(j, "rows");
	series_put_points(j, points, from, nr);
	jw_object_end(j);
	free(points);
	return 0;
}

static void put_strings(struct json_writer *j, const struct view *v, uint64_t since)
{
	const struct strtab *names = &view_model(v)->names;
	size_t from = since ? v->names_at[since % VIEW_TICKS_KEPT] : 0, i;

	jw_key(j, "strings");
	jw_object_begin(j);
	jw_field_u64(j, "from", from + 1); /* string 0 is "" */
	jw_key(j, "add");
	jw_array_begin(j);
	for (i = from; i < names->nr; i++)
		jw_string(j, strtab_text(names, i));
	jw_array_end(j);
	jw_object_end(j);
}

static bool is_new(const struct view_record *rec, uint64_t since)
{
	return rec->changed > since;
}

/* False: too many changed, and none were written. */
static bool view_put_coros(struct json_writer *j, const struct view *v, uint64_t since)
{
	const struct records *r = &v->records;
	size_t i, nr = 0;

	for (i = 0; i < r->nr; i++)
		nr += is_new(&r->all[i], since);
	if (nr > ROWS_MAX)
		return false;
	jw_key(j, "coros");
	jw_object_begin(j);
	jw_key(j, "columns");
	coros_put_names(j);
	jw_key(j, "rows");
	jw_array_begin(j);
	for (i = 0; i < r->nr; i++) {
		if (is_new(&r->all[i], since))
			coros_put_row(v, &r->all[i], j);
	}
	jw_array_end(j);
	jw_object_end(j);
	return true;
}

static void put_reload(struct json_writer *j, bool coros)
{
	jw_key(j, "reload");
	jw_array_begin(j);
	if (coros)
		jw_string(j, "coros");
	jw_string(j, "sites");
	jw_string(j, "lod");
	jw_string(j, "index");
	jw_array_end(j);
}

/* The report is already JSON, and ends with a newline. */
static void add_report(const struct view *v, struct bytes *out)
{
	size_t size = v->report.size;

	while (size && v->report.data[size - 1] == '\n')
		size--;
	bytes_add_text(out, ",\"report\":");
	bytes_add(out, v->report.data, size);
}

int view_delta(struct view *v, uint64_t since, struct bytes *out, struct err *err)
{
	struct json_writer j;
	int rc;

	if (since > v->tick || v->tick - since >= VIEW_TICKS_KEPT)
		since = 0;
	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_u64(&j, "tick", v->tick);
	jw_key(&j, "meta");
	view_put_own_meta(&j, v);
	rc = put_series(&j, v, since);
	put_strings(&j, v, since);
	put_reload(&j, !view_put_coros(&j, v, since));
	jw_object_end(&j);
	if (!rc)
		rc = view_take_json(&j, out);
	else
		jw_release(&j);
	if (!rc && v->report_tick > since) {
		out->size--; /* drop the closing brace */
		add_report(v, out);
		bytes_add_text(out, "}");
		rc = out->error;
	}
	return rc < 0 ? err_set(err, rc, "no memory for what changed") : 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * frame_rows.c - the tables of a recording: frame_TYPE for each type of frames, with the columns of
 * an export.
 *
 * Every scan reads the recording from its start, with the layout that the file has then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/frame_tables.h"
#include "query/query_table.h"

struct query_frames {
	const char *path;
	struct frame_tables tables; /* names and columns */
	size_t nr_types;
	struct query_column **columns; /* by type */
};

struct frame_rows {
	struct query_rows rows; /* first member: cast to and from */
	struct query *query;
	unsigned type;
	struct recfile file;
	struct row_plan plan;
	bool has_plan;
	struct cell *cells;
	size_t nr_cells;
};

/* ---- rows ---------------------------------------------------------------------- */

static void frame_rows_fill(struct frame_rows *r, const struct recfile_item *item)
{
	size_t c, nr = 0;
	uint32_t i;

	for (c = 0; c < r->plan.nr_cells; c++) {
		for (i = 0; i < r->plan.cells[c].count; i++) {
			struct cell *v = &r->cells[nr++];

			row_get(&r->plan, &r->plan.cells[c], i, item->image, item->ticket, v);
			if (v->kind == CELL_FLOAT)
				*v = (struct cell){ .kind = CELL_DOUBLE, .d = (double)v->f };
		}
	}
}

static int frame_rows_next(struct query_rows *rows, struct err *err)
{
	struct frame_rows *r = (struct frame_rows *)rows;
	struct query_stats *stats = &r->query->stats;
	struct recfile_item item;
	int rc;

	while ((rc = recfile_next(&r->file, &item, err)) > 0) {
		if (item.mark || item.type != r->type)
			continue;
		frame_rows_fill(r, &item);
		return 1;
	}
	if (rc == 0) {
		stats->has_recording = true;
		stats->recording = r->file.stats;
	}
	return rc;
}

static void frame_rows_cell(struct query_rows *rows, size_t column, struct cell *c)
{
	const struct frame_rows *r = (const struct frame_rows *)rows;

	*c = r->cells[column];
}

static void frame_rows_close(struct query_rows *rows)
{
	struct frame_rows *r = (struct frame_rows *)rows;

	r->query->stats.scans++;
	r->query->stats.bytes += r->file.read;
	if (r->has_plan)
		row_plan_release(&r->plan);
	recfile_close(&r->file);
	free(r->cells);
	free(r);
}

static const struct query_rows_ops frame_rows_ops = { .next = frame_rows_next,
						      .cell = frame_rows_cell,
						      .close = frame_rows_close };

static int frame_rows_make_plan(struct recfile *f, unsigned type, struct row_plan *plan,
				struct err *err)
{
	int rc = row_plan_init(plan, &f->desc, type, &f->info);

	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory for the columns of '%s'", f->name);
	if (rc < 0)
		return err_set(err, rc, "'%s': frame '%s' lists a member twice", f->name,
			       f->desc.frames[type].name);
	return 0;
}

static int frame_rows_begin(struct frame_rows *r, const struct query_table *t, struct err *err)
{
	int rc = recfile_open(&r->file, r->query->frames->path, err);

	if (rc == 0 && r->type < r->file.desc.nr_frames)
		rc = frame_rows_make_plan(&r->file, r->type, &r->plan, err);
	r->has_plan = rc == 0 && r->plan.cells;
	if (rc < 0)
		return rc;
	r->nr_cells = r->has_plan ? row_columns(&r->plan) : 0;
	if (r->nr_cells != t->nr_columns)
		return err_set(err, -EAGAIN, "'%s' was replaced during the query",
			       r->query->frames->path);
	r->cells = calloc(r->nr_cells + 1, sizeof(*r->cells));
	return r->cells ? 0 : err_set(err, -ENOMEM, "no memory for a row");
}

static struct query_rows *frame_rows_scan(struct query *q, const struct query_table *t,
					  const struct query_want *want, struct err *err)
{
	struct frame_rows *r = calloc(1, sizeof(*r));

	(void)want;
	if (!r) {
		err_set(err, -ENOMEM, "no memory to read '%s'", q->frames->path);
		return NULL;
	}
	r->rows.ops = &frame_rows_ops;
	r->query = q;
	r->type = t->number;
	if (frame_rows_begin(r, t, err) == 0)
		return &r->rows;
	frame_rows_close(&r->rows);
	return NULL;
}

/* ---- tables -------------------------------------------------------------------- */

/* The names are those of a database. */
static const struct sink frame_rows_sink = { .name = "query", .is_database = true };

static int frame_rows_name_columns(struct query_frames *frames, const struct recfile *f,
				   struct err *err)
{
	struct row_plan *plans = calloc(f->desc.nr_frames + 1, sizeof(*plans));
	size_t i, nr = 0;
	int rc = plans ? 0 : err_set(err, -ENOMEM, "no memory for the columns of '%s'", f->name);

	while (rc == 0 && nr < f->desc.nr_frames) {
		rc = frame_rows_make_plan((struct recfile *)f, (unsigned)nr, &plans[nr], err);
		nr += rc == 0;
	}
	if (rc == 0)
		rc = frame_tables_make(&frames->tables, f, plans, &frame_rows_sink, "frame", err);
	for (i = 0; i < nr; i++)
		row_plan_release(&plans[i]);
	free(plans);
	return rc;
}

static bool frame_rows_add_table(struct query *q, size_t type)
{
	struct query_frames *frames = q->frames;
	const struct table *from = &frames->tables.tables[frames->tables.first + type];
	struct query_table table = { .name = from->name,
				     .nr_columns = from->nr_columns,
				     .number = (unsigned)type,
				     .scan = frame_rows_scan };
	size_t i;

	frames->columns[type] = calloc(from->nr_columns + 1, sizeof(struct query_column));
	if (!frames->columns[type])
		return false;
	for (i = 0; i < from->nr_columns; i++)
		frames->columns[type][i] = (struct query_column){ .name = from->columns[i].name,
								  .type = from->columns[i].type };
	table.columns = frames->columns[type];
	return query_tables_add(q, &table);
}

int frame_rows_add(struct query *q, const char *path, struct err *err)
{
	struct recfile f;
	size_t i;
	int rc;

	q->frames = calloc(1, sizeof(*q->frames));
	if (!q->frames)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	q->frames->path = path;
	rc = recfile_open(&f, path, err);
	if (rc < 0)
		return rc;
	rc = frame_rows_name_columns(q->frames, &f, err);
	q->frames->nr_types = f.desc.nr_frames;
	q->frames->columns = calloc(f.desc.nr_frames + 1, sizeof(struct query_column *)); // NOLINT
	for (i = 0; rc == 0 && i < f.desc.nr_frames; i++) {
		if (!q->frames->columns || !frame_rows_add_table(q, i))
			rc = err_set(err, -ENOMEM, "no memory for the columns of '%s'", path);
	}
	recfile_close(&f);
	return rc;
}

void frame_rows_release(struct query_frames *frames)
{
	size_t i;

	if (!frames)
		return;
	for (i = 0; frames->columns && i < frames->nr_types; i++)
		free(frames->columns[i]);
	free(frames->columns);
	frame_tables_release(&frames->tables);
	free(frames);
}

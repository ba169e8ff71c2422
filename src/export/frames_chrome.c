/* SPDX-License-Identifier: MIT */
/* frames_chrome.c - frames as trace events in JSON, for chrome://tracing and other viewers. */
#include <stdio.h>

#include "export/chrome_writer.h"
#include "export/frames_viewer.h"

struct frames_chrome {
	struct frame_timeline timeline; /* first member: cast to and from */
	struct chrome_writer writer;
};

/* ---- values -------------------------------------------------------------- */

static void frames_chrome_put_value(struct json_writer *w, const struct cell *v)
{
	switch (v->kind) {
	case CELL_SIGNED:
		jw_i64(w, v->i);
		break;
	case CELL_UNSIGNED:
		jw_u64(w, v->u);
		break;
	case CELL_BOOL:
		jw_bool(w, v->u != 0);
		break;
	case CELL_FLOAT:
		jw_double(w, (double)v->f);
		break;
	case CELL_DOUBLE:
		jw_double(w, v->d);
		break;
	case CELL_TEXT:
		jw_string_n(w, v->text, v->size);
		break;
	default:
		jw_null(w);
	}
}

static void frames_chrome_put_args(struct json_writer *w, const struct frame_shown *f)
{
	char name[DESC_NAME_MAX * 2 + 300];
	const struct row_plan *p = f->plan;
	struct cell v;
	size_t c;
	uint32_t i;

	jw_key(w, "args");
	jw_object_begin(w);
	for (c = 0; c < p->nr_cells; c++) {
		for (i = 0; i < p->cells[c].count; i++) {
			row_get(p, &p->cells[c], i, f->image, f->ticket, &v);
			jw_key(w, row_column_name(&p->cells[c], i, name, sizeof(name)));
			frames_chrome_put_value(w, &v);
		}
	}
	jw_object_end(w);
}

/* ---- events -------------------------------------------------------------- */

static struct json_writer *frames_chrome_begin(struct frame_timeline *t, const char *phase,
					       const char *name, const char *category, uint64_t ns)
{
	struct frames_chrome *x = (struct frames_chrome *)t;
	struct json_writer *w;
	uint64_t pid;

	frame_timeline_process(t, &pid);
	w = chrome_begin_event(&x->writer, phase, pid, true, 0);
	chrome_put_head(w, name, category, ns);
	return w;
}

static void frames_chrome_end(struct frame_timeline *t)
{
	chrome_end_event(&((struct frames_chrome *)t)->writer);
}

/* Slices of different threads overlap: each has an id, and viewers give it a row of its own. */
static void frames_chrome_put_slice(struct frame_timeline *t, const struct frame_shown *f,
				    const struct row_cell *cell, uint64_t from, uint64_t to)
{
	const char *frame = f->plan->frame->name, *member = cell->field->member;
	struct json_writer *w = frames_chrome_begin(t, "b", member, frame, from);

	jw_field_u64(w, "id", f->ticket);
	frames_chrome_put_args(w, f);
	frames_chrome_end(t);
	w = frames_chrome_begin(t, "e", member, frame, to);
	jw_field_u64(w, "id", f->ticket);
	frames_chrome_end(t);
}

static void frames_chrome_put_instant(struct frame_timeline *t, const struct frame_shown *f,
				      uint64_t at)
{
	const char *name = f->plan->frame->name;
	struct json_writer *w = frames_chrome_begin(t, "i", name, name, at);

	jw_field_string(w, "s", "p");
	frames_chrome_put_args(w, f);
	frames_chrome_end(t);
}

static void frames_chrome_put_counter(struct frame_timeline *t, const struct frame_shown *f,
				      const struct row_cell *cell, const struct cell *v,
				      uint64_t at)
{
	char name[4 * DESC_NAME_MAX];
	struct json_writer *w;

	snprintf(name, sizeof(name), "%s.%s", f->plan->frame->name, cell->name);
	w = frames_chrome_begin(t, "C", name, f->plan->frame->name, at);
	jw_key(w, "args");
	jw_object_begin(w);
	jw_key(w, "value");
	frames_chrome_put_value(w, v);
	jw_object_end(w);
	frames_chrome_end(t);
}

static void frames_chrome_put_lost(struct frame_timeline *t, uint64_t frames, uint64_t at)
{
	struct json_writer *w = frames_chrome_begin(t, "i", "frames lost", "corotracer", at);

	jw_field_string(w, "s", "g");
	jw_key(w, "args");
	jw_object_begin(w);
	jw_field_u64(w, "frames", frames);
	jw_object_end(w);
	frames_chrome_end(t);
}

/* ---- the sink ------------------------------------------------------------ */

static int frames_chrome_error(const struct frame_timeline *t)
{
	return ((const struct frames_chrome *)t)->writer.w.error;
}

static void frames_chrome_finish(struct frame_timeline *t)
{
	chrome_writer_finish(&((struct frames_chrome *)t)->writer);
}

static void frames_chrome_release(struct frame_timeline *t)
{
	jw_release(&((struct frames_chrome *)t)->writer.w);
}

static int frames_chrome_open(struct sink_job *job, struct err *err)
{
	static const struct frame_view view = {
		.note = "open it with chrome://tracing or https://ui.perfetto.dev",
		.slice = frames_chrome_put_slice,
		.instant = frames_chrome_put_instant,
		.counter = frames_chrome_put_counter,
		.lost = frames_chrome_put_lost,
		.error = frames_chrome_error,
		.finish = frames_chrome_finish,
		.release = frames_chrome_release,
	};
	struct frames_chrome *x = frames_viewer_open(job, sizeof(*x), &view, err);
	const char *name;
	uint64_t pid;

	if (!x)
		return err->code;
	chrome_writer_begin(&x->writer, &x->timeline.out, "ns");
	name = frame_timeline_process(&x->timeline, &pid);
	chrome_put_name(&x->writer, "process_name", pid, false, 0, name);
	return 0;
}

const struct sink frames_chrome = {
	.name = "chrome",
	.suffix = ".chrome.json",
	.open = frames_chrome_open,
	FRAMES_VIEWER_SINK,
};

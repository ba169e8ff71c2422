/* SPDX-License-Identifier: MIT */
/* frames_chrome.c - frames as trace events in JSON, for chrome://tracing and other viewers. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/output_file.h"
#include "frames/file/decode.h"
#include "frames/file/frames_timeline.h"

struct frames_chrome {
	struct frame_timeline timeline; /* must be first: the struct is cast */
	struct json_writer w;
	struct outfile file;
	FILE *stream;
};

/* ---- values -------------------------------------------------------------- */

static void frames_chrome_put_value(struct json_writer *w, const struct row_value *v)
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

static void frames_chrome_put_args(struct json_writer *w, const struct frame_shown *f)
{
	char name[DESC_NAME_MAX * 2 + 300];
	const struct row_plan *p = f->plan;
	struct row_value v;
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

/* The format counts microseconds; three decimals keep every nanosecond. */
static void frames_chrome_begin_event(struct frames_chrome *x, const char *phase, const char *name,
				      const char *category, uint64_t ns)
{
	pid_t pid = x->timeline.file->info.pid;

	jw_object_begin(&x->w);
	jw_field_string(&x->w, "ph", phase);
	jw_field_string(&x->w, "name", name);
	jw_field_string(&x->w, "cat", category);
	jw_field_i64(&x->w, "pid", pid ? pid : 1);
	jw_field_u64(&x->w, "tid", 0);
	jw_key(&x->w, "ts");
	jw_thousandths(&x->w, ns);
}

/* Slices of different threads overlap: each has an id, and viewers give it a row of its own. */
static void frames_chrome_put_slice(struct frame_timeline *t, const struct frame_shown *f,
				    const struct row_cell *cell, uint64_t from, uint64_t to)
{
	struct frames_chrome *x = (struct frames_chrome *)t;
	const char *frame = f->plan->frame->name, *member = cell->field->member;

	frames_chrome_begin_event(x, "b", member, frame, from);
	jw_field_u64(&x->w, "id", f->ticket);
	frames_chrome_put_args(&x->w, f);
	jw_object_end(&x->w);
	frames_chrome_begin_event(x, "e", member, frame, to);
	jw_field_u64(&x->w, "id", f->ticket);
	jw_object_end(&x->w);
}

static void frames_chrome_put_instant(struct frame_timeline *t, const struct frame_shown *f,
				      uint64_t at)
{
	struct frames_chrome *x = (struct frames_chrome *)t;

	frames_chrome_begin_event(x, "i", f->plan->frame->name, f->plan->frame->name, at);
	jw_field_string(&x->w, "s", "p");
	frames_chrome_put_args(&x->w, f);
	jw_object_end(&x->w);
}

static void frames_chrome_put_counter(struct frame_timeline *t, const struct frame_shown *f,
				      const struct row_cell *cell, const struct row_value *v,
				      uint64_t at)
{
	struct frames_chrome *x = (struct frames_chrome *)t;
	char name[4 * DESC_NAME_MAX];

	snprintf(name, sizeof(name), "%s.%s", f->plan->frame->name, cell->name);
	frames_chrome_begin_event(x, "C", name, f->plan->frame->name, at);
	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	jw_key(&x->w, "value");
	frames_chrome_put_value(&x->w, v);
	jw_object_end(&x->w);
	jw_object_end(&x->w);
}

static void frames_chrome_put_lost(struct frame_timeline *t, uint64_t frames, uint64_t at)
{
	struct frames_chrome *x = (struct frames_chrome *)t;

	frames_chrome_begin_event(x, "i", "frames lost", "corotracer", at);
	jw_field_string(&x->w, "s", "g");
	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	jw_field_u64(&x->w, "frames", frames);
	jw_object_end(&x->w);
	jw_object_end(&x->w);
}

static void frames_chrome_put_process(struct frames_chrome *x)
{
	const struct recfile *file = x->timeline.file;

	frames_chrome_begin_event(x, "M", "process_name", "__metadata", 0);
	jw_key(&x->w, "args");
	jw_object_begin(&x->w);
	jw_field_string(&x->w, "name", file->info.program ? file->info.program : file->desc.name);
	jw_object_end(&x->w);
	jw_object_end(&x->w);
}

/* ---- the writer ---------------------------------------------------------- */

static int frames_chrome_open(struct decode_writer *w, const char *out, struct err *err)
{
	static const struct frame_view view = {
		.slice = frames_chrome_put_slice,
		.instant = frames_chrome_put_instant,
		.counter = frames_chrome_put_counter,
		.lost = frames_chrome_put_lost,
	};
	struct frames_chrome *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory to write '%s'", out);
	if (outfile_open(&x->file, out, err) == 0)
		x->stream = outfile_stream(&x->file, err);
	if (!x->stream) {
		outfile_close(&x->file);
		free(x);
		return err->code;
	}
	frame_timeline_init(&x->timeline, &view, w->file);
	w->state = x;
	jw_init_file(&x->w, x->stream);
	jw_object_begin(&x->w);
	jw_field_string(&x->w, "displayTimeUnit", "ns");
	jw_key(&x->w, "traceEvents");
	jw_array_begin(&x->w);
	frames_chrome_put_process(x);
	return 0;
}

static int chrome_frame(struct decode_writer *w, unsigned type, const uint8_t *image,
			uint64_t ticket, struct err *err)
{
	struct frames_chrome *x = w->state;
	const struct frame_shown f = { &w->plans[type], type, image, ticket };

	frame_timeline_frame(&x->timeline, &f);
	return x->file.error ? outfile_settle(&x->file, err) : 0;
}

static void chrome_mark(struct decode_writer *w, const struct recording_mark *mark)
{
	struct frames_chrome *x = w->state;

	frame_timeline_mark(&x->timeline, mark);
}

static int frames_chrome_close(struct decode_writer *w, bool complete, struct err *err)
{
	struct frames_chrome *x = w->state;
	int rc = 0;

	jw_array_end(&x->w);
	jw_object_end(&x->w);
	jw_newline(&x->w);
	jw_release(&x->w);
	outfile_end_stream(&x->file, x->stream);
	if (complete)
		rc = outfile_commit(&x->file, err);
	w->bytes = x->file.bytes;
	w->counts = x->timeline.counts;
	outfile_close(&x->file);
	free(x);
	w->state = NULL;
	return rc;
}

const struct decode_writer decode_chrome = {
	.name = "chrome",
	.open = frames_chrome_open,
	.frame = chrome_frame,
	.mark = chrome_mark,
	.close = frames_chrome_close,
};

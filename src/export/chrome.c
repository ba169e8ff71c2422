/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - write the trace event format (JSON) of chrome://tracing and other viewers.
 *
 *	threads      B and E, and i for instants
 *	coroutines   b, e and n ("nestable async"), an id each
 *	wakes        s at the wake, f where the coroutine runs
 *	counters     C
 *
 * The format has no groups, and names the track of a coroutine by its first slice.  It is for
 * small traces: viewers read the whole file into memory, at several times its size.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "export/sink.h"
#include "export/viewer.h"

/* Above these limits viewers have problems, and the note says so. */
#define LARGE_EVENTS UINT64_C(1000000)
#define LARGE_BYTES  (UINT64_C(200) << 20)

struct chrome {
	struct timeline_view view; /* first member: cast to and from */
	struct viewer viewer;
	struct json_writer w;
	uint64_t events; /* objects in the file */
};

static struct chrome *chrome_of(struct timeline_view *v)
{
	return (struct chrome *)v;
}

/* ---- events -------------------------------------------------------------- */

static bool is_async(const struct timeline_track *t)
{
	return t->type == TRACK_COROUTINE || t->type == TRACK_COROUTINE_PACKED ||
	       t->type == TRACK_LOST || t->type == TRACK_AWAY || t->type == TRACK_FRAME_ROW;
}

/* Category and id together identify an async track, so all of its events have one category. */
static const char *category_of(const struct timeline_track *t, enum timeline_category category)
{
	if (t->type == TRACK_FRAMES || t->type == TRACK_FRAME_ROW)
		return ((const struct frame_track *)t)->category;
	if (t->type == TRACK_LOST)
		return "lost";
	if (t->type == TRACK_AWAY)
		return "processor";
	return is_async(t) ? "coroutine" : timeline_category_name(category);
}

static struct json_writer *chrome_begin_event(struct chrome *x, const char *phase,
					      const struct timeline_track *t)
{
	struct json_writer *w = &x->w;

	x->events++;
	jw_object_begin(w);
	jw_field_string(w, "ph", phase);
	jw_field_u64(w, "pid", t->pid ? t->pid : 1);
	/* A track without a thread is drawn on its process. */
	if (!is_async(t) && t->type != TRACK_COUNTER && t->type != TRACK_FRAME_COUNTER)
		jw_field_u64(w, "tid", t->tid ? t->tid : t->pid);
	return w;
}

static void chrome_end_event(struct chrome *x)
{
	size_t size;
	const char *text;

	jw_object_end(&x->w);
	if (x->w.used < OUTFILE_BUFFER / 2)
		return;
	text = jw_text(&x->w, &size);
	if (text)
		outfile_put(&x->viewer.file, text, size);
	jw_text_taken(&x->w);
}

static void chrome_put_time(struct json_writer *w, uint64_t ts)
{
	jw_key(w, "ts");
	jw_thousandths(w, ts); /* microseconds */
}

static void put_id(struct json_writer *w, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, id);
	jw_field_string(w, "id", text);
}

static void chrome_put_head(struct json_writer *w, const struct timeline_track *t, uint64_t ts,
			    const char *name, enum timeline_category category)
{
	jw_field_string(w, "name", name);
	jw_field_string(w, "cat", category_of(t, category));
	chrome_put_time(w, ts);
	if (t->type == TRACK_FRAME_ROW)
		jw_field_u64(w, "id", ((const struct frame_track *)t)->slice);
	else if (is_async(t))
		put_id(w, t->id);
}

static void chrome_put_cell(struct json_writer *w, const struct cell *c)
{
	switch (c->kind) {
	case CELL_SIGNED:
		jw_i64(w, c->i);
		break;
	case CELL_UNSIGNED:
		jw_u64(w, c->u);
		break;
	case CELL_BOOL:
		jw_bool(w, c->u != 0);
		break;
	case CELL_FLOAT:
		jw_double(w, (double)c->f);
		break;
	case CELL_DOUBLE:
		jw_double(w, c->d);
		break;
	case CELL_TEXT:
		jw_string_n(w, c->text, c->size);
		break;
	default:
		jw_null(w);
	}
}

static void chrome_put_frame(struct json_writer *w, const struct frame_shown *f)
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
			chrome_put_cell(w, &v);
		}
	}
	jw_object_end(w);
}

static void put_arg(struct json_writer *w, const struct timeline_arg *a)
{
	char text[24];

	jw_key(w, timeline_key_name(a->key));
	switch (a->type) {
	case ARG_NUMBER:
		jw_u64(w, a->number);
		break;
	case ARG_SIGNED:
		jw_i64(w, (int64_t)a->number);
		break;
	case ARG_POINTER:
		snprintf(text, sizeof(text), "0x%" PRIx64, a->number);
		jw_string(w, text);
		break;
	case ARG_TEXT:
		jw_string(w, a->text);
		break;
	case ARG_TRUE:
		jw_bool(w, true);
		break;
	}
}

static void chrome_put_args(struct chrome *x, const struct timeline_mark *m)
{
	struct json_writer *w = &x->w;
	unsigned i;

	if (m->frame)
		chrome_put_frame(w, m->frame->frame);
	if (m->frame || (!m->nr_args && !m->nr_fields && !m->site))
		return;
	jw_key(w, "args");
	jw_object_begin(w);
	if (m->site)
		jw_field_string(w, "place", timeline_site(&x->viewer.timeline, m->site));
	for (i = 0; i < m->nr_args; i++)
		put_arg(w, &m->args[i]);
	if (m->nr_fields) {
		jw_key(w, timeline_key_name(KEY_FIELDS));
		jw_object_begin(w);
		for (i = 0; i < m->nr_fields; i++) {
			jw_key(w, m->fields[i].key);
			chrome_put_cell(w, &m->fields[i].value);
		}
		jw_object_end(w);
	}
	jw_object_end(w);
}

/* A flow has its own events, on threads; they bind to the enclosing slice. */
static void draw_flow(struct chrome *x, const struct timeline_track *t, uint64_t ts,
		      const struct timeline_mark *m)
{
	struct json_writer *w;

	if (!m->flow || t->type != TRACK_THREAD)
		return;
	w = chrome_begin_event(x, m->flow_ends ? "f" : "s", t);
	chrome_put_head(w, t, ts, "wake", CATEGORY_WAKE);
	put_id(w, m->flow);
	if (m->flow_ends)
		jw_field_string(w, "bp", "e");
	chrome_end_event(x);
}

static void chrome_draw_begin(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			      const struct timeline_mark *m)
{
	struct chrome *x = chrome_of(v);

	chrome_put_head(chrome_begin_event(x, is_async(t) ? "b" : "B", t), t, ts, m->name->text,
			m->category);
	chrome_put_args(x, m);
	chrome_end_event(x);
	draw_flow(x, t, ts, m);
}

static void chrome_draw_end(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			    const struct timeline_name *name)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = chrome_begin_event(x, is_async(t) ? "e" : "E", t);

	if (is_async(t)) {
		chrome_put_head(w, t, ts, name->text, CATEGORY_LIFE);
	} else {
		/* Without a name, speedscope does not find the slice that ends. */
		jw_field_string(w, "name", name->text);
		chrome_put_time(w, ts);
	}
	chrome_end_event(x);
}

static void chrome_draw_instant(struct timeline_view *v, const struct timeline_track *t,
				uint64_t ts, const struct timeline_mark *m)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = chrome_begin_event(x, is_async(t) ? "n" : "i", t);

	chrome_put_head(w, t, ts, m->name->text, m->category);
	if (!is_async(t))
		jw_field_string(w, "s", t->type == TRACK_THREAD ? "t" : "p");
	chrome_put_args(x, m);
	chrome_end_event(x);
	draw_flow(x, t, ts, m);
}

static void chrome_draw_counter(struct timeline_view *v, const struct timeline_track *t,
				uint64_t ts, const struct cell *value)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = chrome_begin_event(x, "C", t);

	jw_field_string(w, "name", t->name);
	chrome_put_time(w, ts);
	jw_key(w, "args");
	jw_object_begin(w);
	jw_key(w, "value");
	chrome_put_cell(w, value);
	jw_object_end(w);
	chrome_end_event(x);
}

/* ---- tracks and facts ---------------------------------------------------- */

static void chrome_draw_track(struct timeline_view *v, const struct timeline_track *t)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w;

	if (t->type != TRACK_PROCESS && t->type != TRACK_THREAD)
		return;
	w = chrome_begin_event(x, "M", t);
	jw_field_string(w, "name", t->type == TRACK_PROCESS ? "process_name" : "thread_name");
	jw_key(w, "args");
	jw_object_begin(w);
	jw_field_string(w, "name", t->name);
	jw_object_end(w);
	chrome_end_event(x);
}

/* The format has no element for it. */
static void chrome_draw_run(struct timeline_view *v, const struct sidecar_run *run)
{
	(void)v;
	(void)run;
}

/* Sites are written with each event. */
static void chrome_draw_site(struct timeline_view *v, const struct trace_site *site)
{
	(void)v;
	(void)site;
}

/* ---- the sink ------------------------------------------------------------ */

static int chrome_chrome_open(struct sink_job *job, struct err *err)
{
	static const struct timeline_view view = {
		.run = chrome_draw_run,
		.site = chrome_draw_site,
		.track = chrome_draw_track,
		.begin = chrome_draw_begin,
		.end = chrome_draw_end,
		.instant = chrome_draw_instant,
		.counter = chrome_draw_counter,
	};
	struct chrome *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	x->view = view;
	if (viewer_open(&x->viewer, &x->view, job, err) < 0) {
		free(x);
		return err->code;
	}
	jw_init_buffer(&x->w);
	jw_object_begin(&x->w);
	/*
	 * No displayTimeUnit: some viewers read it as the unit of the times, which are
	 * microseconds.
	 */
	jw_key(&x->w, "traceEvents");
	jw_array_begin(&x->w);
	job->state = x;
	return 0;
}

static int chrome_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct chrome *x = job->state;
	int rc = viewer_item(&x->viewer, job, item, err);

	return rc == 0 && x->w.error ? viewer_no_memory(err) : rc;
}

static int chrome_frame(struct sink_job *job, const struct frame_shown *frame, struct err *err)
{
	struct chrome *x = job->state;
	int rc = viewer_frame(&x->viewer, frame, err);

	return rc == 0 && x->w.error ? viewer_no_memory(err) : rc;
}

static void chrome_mark(struct sink_job *job, const struct recording_mark *mark)
{
	frame_timeline_mark(&((struct chrome *)job->state)->viewer.frames, mark);
}

static bool chrome_is_large(const struct chrome *x)
{
	return x->events > LARGE_EVENTS || x->viewer.file.bytes > LARGE_BYTES;
}

static int chrome_commit(struct sink_job *job, struct err *err)
{
	struct chrome *x = job->state;
	const char *text;
	size_t size;
	int rc = viewer_finish(&x->viewer, job, err);

	if (rc < 0)
		return rc;
	jw_array_end(&x->w);
	jw_object_end(&x->w);
	jw_newline(&x->w);
	text = jw_text(&x->w, &size);
	if (!text)
		return viewer_no_memory(err);
	outfile_put(&x->viewer.file, text, size);
	viewer_note(job, chrome_is_large(x)
				 ? "large for a viewer of this format: 'export perfetto' suits "
				   "better"
				 : "open it with chrome://tracing, https://ui.perfetto.dev or "
				   "https://www.speedscope.app");
	return viewer_commit(&x->viewer, job, err);
}

static void chrome_chrome_close(struct sink_job *job)
{
	struct chrome *x = job->state;

	jw_release(&x->w);
	viewer_close(&x->viewer);
	free(x);
}

static void chrome_drop(struct sink_job *job)
{
	outfile_drop(&((struct chrome *)job->state)->viewer.file);
}

const struct sink sink_chrome = {
	.name = "chrome",
	.about = "trace events in JSON, for chrome://tracing and other viewers; small traces",
	/* Not ".chrome.json": speedscope takes a file of that name for a CPU profile. */
	.suffix = ".trace.json",
	.to_stdout = true,
	.open = chrome_chrome_open,
	.item = chrome_item,
	.frame = chrome_frame,
	.mark = chrome_mark,
	.commit = chrome_commit,
	.close = chrome_chrome_close,
	.drop = chrome_drop,
};

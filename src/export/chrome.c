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

#include "export/chrome_writer.h"
#include "export/sink.h"
#include "export/viewer.h"

/* Above these limits viewers have problems, and the note says so. */
#define LARGE_EVENTS UINT64_C(1000000)
#define LARGE_BYTES  (UINT64_C(200) << 20)

struct chrome {
	struct timeline_view view; /* first member: cast to and from */
	struct viewer viewer;
	struct chrome_writer writer;
};

static struct chrome *chrome_of(struct timeline_view *v)
{
	return (struct chrome *)v;
}

/* ---- events -------------------------------------------------------------- */

static bool is_async(const struct timeline_track *t)
{
	return t->type == TRACK_COROUTINE || t->type == TRACK_COROUTINE_PACKED ||
	       t->type == TRACK_LOST;
}

/* Category and id together identify an async track, so all of its events have one category. */
static const char *category_of(const struct timeline_track *t, enum timeline_category category)
{
	if (t->type == TRACK_LOST)
		return "lost";
	return is_async(t) ? "coroutine" : timeline_category_name(category);
}

/* A track without a thread is drawn on its process. */
static struct json_writer *begin_event(struct chrome *x, const char *phase,
				       const struct timeline_track *t)
{
	return chrome_begin_event(&x->writer, phase, t->pid,
				  !is_async(t) && t->type != TRACK_COUNTER,
				  t->tid ? t->tid : t->pid);
}

static void put_id(struct json_writer *w, uint64_t id)
{
	char text[24];

	snprintf(text, sizeof(text), "0x%" PRIx64, id);
	jw_field_string(w, "id", text);
}

static void put_head(struct json_writer *w, const struct timeline_track *t, uint64_t ts,
		     const char *name, enum timeline_category category)
{
	chrome_put_head(w, name, category_of(t, category), ts);
	if (is_async(t))
		put_id(w, t->id);
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
	struct json_writer *w = &x->writer.w;
	unsigned i;

	if (!m->nr_args && !m->site)
		return;
	jw_key(w, "args");
	jw_object_begin(w);
	if (m->site)
		jw_field_string(w, "place", timeline_site(&x->viewer.timeline, m->site));
	for (i = 0; i < m->nr_args; i++)
		put_arg(w, &m->args[i]);
	jw_object_end(w);
}

/* A flow has its own events, on threads; they bind to the enclosing slice. */
static void draw_flow(struct chrome *x, const struct timeline_track *t, uint64_t ts,
		      const struct timeline_mark *m)
{
	struct json_writer *w;

	if (!m->flow || t->type != TRACK_THREAD)
		return;
	w = begin_event(x, m->flow_ends ? "f" : "s", t);
	put_head(w, t, ts, "wake", CATEGORY_WAKE);
	put_id(w, m->flow);
	if (m->flow_ends)
		jw_field_string(w, "bp", "e");
	chrome_end_event(&x->writer);
}

static void chrome_draw_begin(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			      const struct timeline_mark *m)
{
	struct chrome *x = chrome_of(v);

	put_head(begin_event(x, is_async(t) ? "b" : "B", t), t, ts, m->name->text, m->category);
	chrome_put_args(x, m);
	chrome_end_event(&x->writer);
	draw_flow(x, t, ts, m);
}

static void chrome_draw_end(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			    const struct timeline_name *name)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = begin_event(x, is_async(t) ? "e" : "E", t);

	if (is_async(t))
		put_head(w, t, ts, name->text, CATEGORY_LIFE);
	else
		chrome_put_time(w, ts);
	chrome_end_event(&x->writer);
}

static void chrome_draw_instant(struct timeline_view *v, const struct timeline_track *t,
				uint64_t ts, const struct timeline_mark *m)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = begin_event(x, is_async(t) ? "n" : "i", t);

	put_head(w, t, ts, m->name->text, m->category);
	if (!is_async(t))
		jw_field_string(w, "s", t->type == TRACK_THREAD ? "t" : "p");
	chrome_put_args(x, m);
	chrome_end_event(&x->writer);
	draw_flow(x, t, ts, m);
}

static void chrome_draw_counter(struct timeline_view *v, const struct timeline_track *t,
				uint64_t ts, uint64_t value)
{
	struct chrome *x = chrome_of(v);
	struct json_writer *w = begin_event(x, "C", t);

	jw_field_string(w, "name", t->name);
	chrome_put_time(w, ts);
	jw_key(w, "args");
	jw_object_begin(w);
	jw_field_u64(w, "value", value);
	jw_object_end(w);
	chrome_end_event(&x->writer);
}

/* ---- tracks and facts ---------------------------------------------------- */

static void chrome_draw_track(struct timeline_view *v, const struct timeline_track *t)
{
	bool is_process = t->type == TRACK_PROCESS;

	if (is_process || t->type == TRACK_THREAD)
		chrome_put_name(&chrome_of(v)->writer, is_process ? "process_name" : "thread_name",
				t->pid, true, t->tid ? t->tid : t->pid, t->name);
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
	/* No unit: some viewers read it as the unit of the times, which are microseconds. */
	chrome_writer_begin(&x->writer, &x->viewer.file, NULL);
	job->state = x;
	return 0;
}

static int chrome_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct chrome *x = job->state;
	int rc = viewer_item(&x->viewer, job, item, err);

	return rc == 0 && x->writer.w.error ? viewer_no_memory(err) : rc;
}

static bool chrome_is_large(const struct chrome *x)
{
	return x->writer.events > LARGE_EVENTS || x->viewer.file.bytes > LARGE_BYTES;
}

static int chrome_commit(struct sink_job *job, struct err *err)
{
	struct chrome *x = job->state;
	int rc = viewer_finish(&x->viewer, job, err);

	if (rc < 0)
		return rc;
	chrome_writer_finish(&x->writer);
	if (x->writer.w.error)
		return viewer_no_memory(err);
	viewer_note(job, chrome_is_large(x)
				 ? "large for a viewer of this format: 'export perfetto' suits "
				   "better"
				 : "open it with chrome://tracing or https://ui.perfetto.dev");
	return viewer_commit(&x->viewer, job, err);
}

static void chrome_chrome_close(struct sink_job *job)
{
	struct chrome *x = job->state;

	jw_release(&x->writer.w);
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
	.suffix = ".chrome.json",
	.to_stdout = true,
	.frames = &frames_chrome,
	.open = chrome_chrome_open,
	.item = chrome_item,
	.commit = chrome_commit,
	.close = chrome_chrome_close,
	.drop = chrome_drop,
};

/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - write a trace for ui.perfetto.dev, as track events in the format of Perfetto.
 *
 * The clock is CLOCK_MONOTONIC.  The first packet defines frequent strings (interning).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/perfetto_writer.h"
#include "export/sink.h"
#include "export/timeline.h"
#include "export/viewer.h"

struct perfetto {
	struct timeline_view view; /* first member: cast to and from */
	struct viewer viewer;
	struct perfetto_writer writer;
	bool is_begun;
	struct sidecar_run run; /* its times only */
};

static struct perfetto *perfetto_of(struct timeline_view *v)
{
	return (struct perfetto *)v;
}

/* ---- packets ------------------------------------------------------------- */

static void put_constants(struct proto *p)
{
	unsigned i;

	proto_begin(p, PACKET_INTERNED);
	for (i = 0; i < NR_TIMELINE_CATEGORIES; i++)
		perfetto_put_interned(p, INTERNED_CATEGORIES, i + 1, timeline_category_name(i));
	for (i = 0; i < NR_TIMELINE_WORDS; i++)
		perfetto_put_interned(p, INTERNED_NAMES, i + 1, timeline_word_name(i));
	for (i = 0; i < NR_TIMELINE_KEYS; i++)
		perfetto_put_interned(p, INTERNED_KEYS, i + 1, timeline_key_name(i));
	proto_end(p);
}

/* Includes the time of day if it is known: viewers show either. */
static struct perfetto_writer *perfetto_writer_of(struct perfetto *x)
{
	if (!x->is_begun) {
		x->is_begun = true;
		put_constants(perfetto_begin_trace(&x->writer, CLOCK_IS_MONOTONIC, x->run.start_ts,
						   x->run.start_realtime));
		perfetto_end_packet(&x->writer);
	}
	return &x->writer;
}

/* ---- tracks -------------------------------------------------------------- */

static void put_process(struct proto *p, const struct timeline_track *t)
{
	if (!t->pid)
		perfetto_put_text(p, DESCRIPTOR_NAME, t->name);
	else
		perfetto_put_process(p, t->pid, t->name);
	proto_u64(p, DESCRIPTOR_CHILD_ORDER, BY_RANK);
}

/* A thread without a known process or a valid tid becomes a generic track. */
static bool is_real_thread(const struct timeline_track *t)
{
	return t->pid && t->tid && t->tid <= INT32_MAX;
}

static void put_thread(struct proto *p, const struct timeline_track *t)
{
	if (!is_real_thread(t)) {
		proto_u64(p, DESCRIPTOR_PARENT, t->parent);
		perfetto_put_text(p, DESCRIPTOR_NAME, t->name);
		return;
	}
	proto_begin(p, DESCRIPTOR_THREAD);
	proto_u64(p, 1, t->pid);
	proto_u64(p, 2, t->tid);
	perfetto_put_text(p, 5, "thread"); /* viewers append the tid */
	proto_end(p);
}

static void put_other(struct proto *p, const struct timeline_track *t)
{
	proto_u64(p, DESCRIPTOR_PARENT, t->parent);
	if (t->name)
		perfetto_put_text(p, DESCRIPTOR_NAME, t->name);
	proto_u64(p, DESCRIPTOR_RANK, t->rank);
	switch (t->type) {
	case TRACK_COUNTER:
		proto_begin(p, DESCRIPTOR_COUNTER);
		proto_u64(p, 3, 2); /* unit: count */
		proto_end(p);
		break;
	case TRACK_GROUP:
		proto_u64(p, DESCRIPTOR_CHILD_ORDER, BY_RANK);
		break;
	case TRACK_COROUTINE_PACKED:
		proto_u64(p, DESCRIPTOR_MERGE, MERGE_BY_KEY);
		perfetto_put_text(p, DESCRIPTOR_MERGE_KEY, "coroutines");
		break;
	case TRACK_COROUTINE:
	case TRACK_LOST:
	case TRACK_PROCESS:
	case TRACK_THREAD:
		proto_u64(p, DESCRIPTOR_MERGE, MERGE_NEVER);
		break;
	}
}

static void perfetto_draw_track(struct timeline_view *v, const struct timeline_track *t)
{
	struct perfetto_writer *w = perfetto_writer_of(perfetto_of(v));
	struct proto *p = perfetto_begin_track(w, t->id);

	if (t->type == TRACK_PROCESS)
		put_process(p, t);
	else if (t->type == TRACK_THREAD)
		put_thread(p, t);
	else
		put_other(p, t);
	perfetto_end_track(w);
}

/* ---- events -------------------------------------------------------------- */

static void perfetto_put_annotation(struct proto *p, const struct timeline_arg *a)
{
	proto_begin(p, EVENT_ANNOTATION);
	proto_u64(p, ANNOTATION_NAME, a->key + UINT64_C(1));
	switch (a->type) {
	case ARG_NUMBER:
		proto_u64(p, ANNOTATION_UINT, a->number);
		break;
	case ARG_SIGNED:
		proto_i64(p, ANNOTATION_INT, (int64_t)a->number);
		break;
	case ARG_POINTER:
		proto_u64(p, ANNOTATION_POINTER, a->number);
		break;
	case ARG_TEXT:
		perfetto_put_text(p, ANNOTATION_STRING, a->text);
		break;
	case ARG_TRUE:
		proto_u64(p, ANNOTATION_BOOL, 1);
		break;
	}
	proto_end(p);
}

static void put_mark(struct proto *p, const struct timeline_mark *m)
{
	unsigned i;

	proto_u64(p, EVENT_CATEGORY, m->category + UINT64_C(1));
	proto_u64(p, EVENT_NAME, m->name->id);
	if (m->flow)
		proto_fixed64(p, m->flow_ends ? EVENT_FLOW_ENDS : EVENT_FLOW, m->flow);
	if (m->site)
		proto_u64(p, EVENT_PLACE, m->site);
	for (i = 0; i < m->nr_args; i++)
		perfetto_put_annotation(p, &m->args[i]);
}

/* A name is defined in the first packet that uses it. */
static void perfetto_end_event(struct perfetto_writer *w, struct timeline_name *name)
{
	struct proto *p = &w->p;

	proto_end(p);
	if (name && !name->told && name->id > NR_TIMELINE_WORDS) {
		proto_begin(p, PACKET_INTERNED);
		perfetto_put_interned(p, INTERNED_NAMES, name->id, name->text);
		proto_end(p);
		name->told = true;
	}
	perfetto_end_packet(w);
}

static void draw_mark(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		      const struct timeline_mark *m, enum event_type type)
{
	struct perfetto_writer *w = perfetto_writer_of(perfetto_of(v));

	put_mark(perfetto_begin_event(w, t->id, ts, type), m);
	perfetto_end_event(w, m->name);
}

static void perfetto_draw_begin(struct timeline_view *v, const struct timeline_track *t,
				uint64_t ts, const struct timeline_mark *m)
{
	draw_mark(v, t, ts, m, SLICE_BEGIN);
}

static void perfetto_draw_instant(struct timeline_view *v, const struct timeline_track *t,
				  uint64_t ts, const struct timeline_mark *m)
{
	draw_mark(v, t, ts, m, INSTANT);
}

static void perfetto_draw_end(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			      const struct timeline_name *name)
{
	struct perfetto_writer *w = perfetto_writer_of(perfetto_of(v));

	(void)name; /* ends the open slice of the track */
	perfetto_begin_event(w, t->id, ts, SLICE_END);
	perfetto_end_event(w, NULL);
}

static void perfetto_draw_counter(struct timeline_view *v, const struct timeline_track *t,
				  uint64_t ts, uint64_t value)
{
	struct perfetto_writer *w = perfetto_writer_of(perfetto_of(v));

	proto_u64(perfetto_begin_event(w, t->id, ts, COUNTER), EVENT_COUNTER, value);
	perfetto_end_event(w, NULL);
}

/* ---- facts --------------------------------------------------------------- */

static void perfetto_draw_run(struct timeline_view *v, const struct sidecar_run *run)
{
	struct perfetto *x = perfetto_of(v);

	x->run.start_ts = run->start_ts <= INT64_MAX ? run->start_ts : 0;
	if (x->run.start_ts && run->start_realtime <= INT64_MAX)
		x->run.start_realtime = run->start_realtime;
}

static void perfetto_draw_site(struct timeline_view *v, const struct trace_site *site)
{
	struct perfetto_writer *w = perfetto_writer_of(perfetto_of(v));
	struct proto *p = perfetto_begin_packet(w);

	proto_begin(p, PACKET_INTERNED);
	proto_begin(p, INTERNED_PLACES);
	proto_u64(p, 1, site->id);
	perfetto_put_text(p, 2, site->file ? site->file : "");
	perfetto_put_text(p, 3, site->function ? site->function : "");
	proto_u64(p, 4, site->line);
	proto_end(p);
	proto_end(p);
	perfetto_end_packet(w);
}

/* ---- the sink ------------------------------------------------------------ */

static int perfetto_perfetto_open(struct sink_job *job, struct err *err)
{
	static const struct timeline_view view = {
		.run = perfetto_draw_run,
		.site = perfetto_draw_site,
		.track = perfetto_draw_track,
		.begin = perfetto_draw_begin,
		.end = perfetto_draw_end,
		.instant = perfetto_draw_instant,
		.counter = perfetto_draw_counter,
	};
	struct perfetto *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	x->view = view;
	if (viewer_open(&x->viewer, &x->view, job, err) < 0) {
		free(x);
		return err->code;
	}
	x->writer.file = &x->viewer.file;
	job->state = x;
	return 0;
}

static int perfetto_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct perfetto *x = job->state;
	int rc = viewer_item(&x->viewer, job, item, err);

	return rc == 0 && x->writer.p.error ? viewer_no_memory(err) : rc;
}

static int perfetto_commit(struct sink_job *job, struct err *err)
{
	struct perfetto *x = job->state;
	int rc = viewer_finish(&x->viewer, job, err);

	if (rc < 0)
		return rc;
	perfetto_writer_of(x);
	if (x->writer.p.error)
		return viewer_no_memory(err);
	perfetto_flush(&x->writer);
	viewer_note(job, "open it with https://ui.perfetto.dev");
	return viewer_commit(&x->viewer, job, err);
}

static void perfetto_perfetto_close(struct sink_job *job)
{
	struct perfetto *x = job->state;

	viewer_close(&x->viewer);
	proto_release(&x->writer.p);
	free(x);
}

static void perfetto_drop(struct sink_job *job)
{
	outfile_drop(&((struct perfetto *)job->state)->viewer.file);
}

const struct sink sink_perfetto = {
	.name = "perfetto",
	.about = "the timeline viewer at https://ui.perfetto.dev",
	.suffix = ".perfetto-trace",
	.to_stdout = true,
	.frames = &frames_perfetto,
	.open = perfetto_perfetto_open,
	.item = perfetto_item,
	.commit = perfetto_commit,
	.close = perfetto_perfetto_close,
	.drop = perfetto_drop,
};

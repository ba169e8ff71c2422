/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - write a trace or a recording for ui.perfetto.dev, as track events.
 *
 * There is one sequence of packets.  The first packet clears the incremental state, sets the
 * clock, and defines the frequent strings of a trace (interning); all others depend on it.  Field
 * numbers are those of the published Perfetto schema, by message: trace_packet, track_descriptor,
 * track_event, debug_annotation, interned_data.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zlib.h>

#include "base/output_file.h"
#include "base/perfetto.h"
#include "base/proto.h"
#include "export/sink.h"
#include "export/timeline.h"
#include "export/viewer.h"

#define SEQUENCE 1 /* there is one writer */

/* Bytes of packets that are compressed together; and how, in steps of zlib. */
#define PERFETTO_BLOCK ((size_t)256 * 1024)
#define PERFETTO_LEVEL 1

struct perfetto {
	struct timeline_view view; /* first member: cast to and from */
	struct viewer viewer;
	struct proto p;
	bool is_begun, is_recording;
	enum clock clock;
	uint64_t start, realtime; /* of the run or recording; 0: not known */
};

static struct perfetto *perfetto_of(struct timeline_view *v)
{
	return (struct perfetto *)v;
}

static void perfetto_put_text(struct proto *p, uint32_t field, const char *text)
{
	proto_string(p, field, text, strlen(text));
}

/* ---- packets ------------------------------------------------------------- */

static void perfetto_put_interned(struct proto *p, uint32_t kind, uint64_t iid, const char *text)
{
	proto_begin(p, kind);
	proto_u64(p, 1, iid);
	perfetto_put_text(p, 2, text);
	proto_end(p);
}

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

static void perfetto_put_clock(struct proto *p, enum clock clock, uint64_t time)
{
	proto_begin(p, 1);
	proto_u64(p, 1, clock);
	proto_u64(p, 2, time);
	proto_end(p);
}

/* Includes the time of day if it is known: viewers show either. */
static void perfetto_put_clocks(struct perfetto *x)
{
	struct proto *p = &x->p;

	proto_begin(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_begin(p, PACKET_CLOCK_SNAPSHOT);
	perfetto_put_clock(p, x->realtime ? CLOCK_IS_MONOTONIC : x->clock, x->start);
	if (x->realtime)
		perfetto_put_clock(p, CLOCK_IS_REALTIME, x->realtime);
	proto_u64(p, 2, x->clock);
	proto_end(p);
	proto_end(p);
}

static void perfetto_begin_trace(struct perfetto *x)
{
	struct proto *p = &x->p;

	if (x->is_begun)
		return;
	x->is_begun = true;
	perfetto_put_clocks(x);
	proto_begin(p, TRACE_PACKET);
	proto_u64(p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(p, PACKET_FLAGS, STATE_CLEARED);
	proto_u64(p, PACKET_FIRST, 1);
	proto_begin(p, PACKET_DEFAULTS);
	proto_u64(p, DEFAULTS_CLOCK, x->clock);
	proto_end(p);
	if (!x->is_recording)
		put_constants(p);
	proto_end(p);
}

static struct proto *perfetto_begin_packet(struct perfetto *x)
{
	perfetto_begin_trace(x);
	proto_begin(&x->p, TRACE_PACKET);
	proto_u64(&x->p, PACKET_SEQUENCE_ID, SEQUENCE);
	proto_u64(&x->p, PACKET_FLAGS, NEEDS_STATE);
	return &x->p;
}

/*
 * Writes the packets so far as one packet with all of them compressed.  Packets repeat each other:
 * compressed they take a tenth of the bytes.
 */
static void perfetto_flush(struct perfetto *x)
{
	struct proto *p = &x->p;
	struct proto head = { 0 };
	uLongf size = compressBound(p->used);
	uint8_t *packed = p->error || !p->used ? NULL : malloc(size);

	if (!packed || compress2(packed, &size, p->buf, p->used, PERFETTO_LEVEL) != Z_OK) {
		if (p->used && !p->error)
			p->error = -ENOMEM;
	} else {
		proto_begin(&head, TRACE_PACKET);
		proto_bytes(&head, PACKET_COMPRESSED, packed, size);
		proto_end(&head);
		if (head.error)
			p->error = head.error;
		else
			outfile_put(&x->viewer.file, head.buf, head.used);
	}
	proto_release(&head);
	free(packed);
	p->used = 0;
}

static void perfetto_end_packet(struct perfetto *x)
{
	proto_end(&x->p);
	if (x->p.used >= PERFETTO_BLOCK)
		perfetto_flush(x);
}

/* ---- tracks -------------------------------------------------------------- */

static void perfetto_put_process(struct proto *p, const struct timeline_track *t)
{
	if (!t->pid) {
		perfetto_put_text(p, DESCRIPTOR_NAME, t->name);
	} else {
		proto_begin(p, DESCRIPTOR_PROCESS);
		proto_u64(p, 1, t->pid);
		perfetto_put_text(p, 6, t->name);
		proto_end(p);
	}
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
	case TRACK_FRAME_COUNTER:
		proto_begin(p, DESCRIPTOR_COUNTER);
		proto_end(p);
		break;
	case TRACK_FRAME_ROW:
		proto_u64(p, DESCRIPTOR_MERGE, MERGE_BY_KEY);
		perfetto_put_text(p, DESCRIPTOR_MERGE_KEY, ((const struct frame_track *)t)->group);
		break;
	case TRACK_COROUTINE:
	case TRACK_FRAMES:
	case TRACK_LOST:
	case TRACK_AWAY:
	case TRACK_PROCESS:
	case TRACK_THREAD:
		proto_u64(p, DESCRIPTOR_MERGE, MERGE_NEVER);
		break;
	}
}

static void perfetto_draw_track(struct timeline_view *v, const struct timeline_track *t)
{
	struct perfetto *x = perfetto_of(v);
	struct proto *p = perfetto_begin_packet(x);

	proto_begin(p, PACKET_TRACK_DESCRIPTOR);
	proto_u64(p, DESCRIPTOR_UUID, t->id);
	if (t->type == TRACK_PROCESS)
		perfetto_put_process(p, t);
	else if (t->type == TRACK_THREAD)
		put_thread(p, t);
	else
		put_other(p, t);
	proto_end(p);
	perfetto_end_packet(x);
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

static void perfetto_put_cell(struct proto *p, const struct cell *c)
{
	switch (c->kind) {
	case CELL_SIGNED:
		proto_i64(p, ANNOTATION_INT, c->i);
		break;
	case CELL_UNSIGNED:
		proto_u64(p, ANNOTATION_UINT, c->u);
		break;
	case CELL_BOOL:
		proto_u64(p, ANNOTATION_BOOL, c->u);
		break;
	case CELL_FLOAT:
		proto_double(p, ANNOTATION_DOUBLE, (double)c->f);
		break;
	case CELL_DOUBLE:
		proto_double(p, ANNOTATION_DOUBLE, c->d);
		break;
	case CELL_TEXT:
		proto_string(p, ANNOTATION_STRING, c->text, c->size);
		break;
	default:
		perfetto_put_text(p, ANNOTATION_STRING, "none");
		break;
	}
}

/* A value that was not taken is omitted; an array stays an array. */
static void perfetto_put_frame_cell(struct proto *p, const struct frame_shown *f,
				    const struct row_cell *cell, const struct timeline_name *key)
{
	struct cell v;
	uint32_t i;

	row_get(f->plan, cell, 0, f->image, f->ticket, &v);
	if (!cell->is_list && v.kind == CELL_NULL)
		return;
	proto_begin(p, EVENT_ANNOTATION);
	proto_u64(p, ANNOTATION_NAME, key->id);
	for (i = 0; cell->is_list && i < cell->count; i++) {
		row_get(f->plan, cell, i, f->image, f->ticket, &v);
		proto_begin(p, ANNOTATION_ARRAY);
		perfetto_put_cell(p, &v);
		proto_end(p);
	}
	if (!cell->is_list)
		perfetto_put_cell(p, &v);
	proto_end(p);
}

static void perfetto_put_frame(struct proto *p, const struct timeline_mark *m)
{
	const struct frame_shown *f = m->frame->frame;
	const struct frame_type *type = m->frame->type;
	size_t c;

	proto_u64(p, EVENT_CATEGORY, type->category.id);
	proto_u64(p, EVENT_NAME, m->name->id);
	for (c = 0; c < f->plan->nr_cells; c++)
		perfetto_put_frame_cell(p, f, &f->plan->cells[c], &type->columns[c].key);
}

static void put_mark(struct proto *p, const struct timeline_mark *m)
{
	unsigned i;

	if (m->frame) {
		perfetto_put_frame(p, m);
		return;
	}
	proto_u64(p, EVENT_CATEGORY, m->category + UINT64_C(1));
	proto_u64(p, EVENT_NAME, m->name->id);
	if (m->flow)
		proto_fixed64(p, m->flow_ends ? EVENT_FLOW_ENDS : EVENT_FLOW, m->flow);
	if (m->site)
		proto_u64(p, EVENT_PLACE, m->site);
	for (i = 0; i < m->nr_args; i++)
		perfetto_put_annotation(p, &m->args[i]);
	if (!m->nr_fields)
		return;
	proto_begin(p, EVENT_ANNOTATION);
	proto_u64(p, ANNOTATION_NAME, KEY_FIELDS + UINT64_C(1));
	for (i = 0; i < m->nr_fields; i++) {
		proto_begin(p, ANNOTATION_ENTRY);
		perfetto_put_text(p, ANNOTATION_NAME_TEXT, m->fields[i].key);
		perfetto_put_cell(p, &m->fields[i].value);
		proto_end(p);
	}
	proto_end(p);
}

static struct proto *perfetto_begin_event(struct perfetto *x, const struct timeline_track *t,
					  uint64_t ts, enum event_type type)
{
	struct proto *p = perfetto_begin_packet(x);

	proto_u64(p, PACKET_TIMESTAMP, ts);
	proto_begin(p, PACKET_TRACK_EVENT);
	proto_u64(p, EVENT_TYPE, type);
	proto_u64(p, EVENT_TRACK, t->id);
	return p;
}

/* A text is defined in the first packet that uses it. */
static void put_new_texts(struct proto *p, struct timeline_name *name, struct frame_type *type,
			  const struct row_plan *plan)
{
	size_t c;

	proto_begin(p, PACKET_INTERNED);
	if (!name->told)
		perfetto_put_interned(p, INTERNED_NAMES, name->id, name->text);
	name->told = true;
	if (type && !type->told) {
		perfetto_put_interned(p, INTERNED_CATEGORIES, type->category.id,
				      type->category.text);
		for (c = 0; c < plan->nr_cells; c++)
			perfetto_put_interned(p, INTERNED_KEYS, type->columns[c].key.id,
					      type->columns[c].key.text);
		type->told = true;
	}
	proto_end(p);
}

/* @m NULL: nothing to define. */
static void perfetto_end_event(struct perfetto *x, const struct timeline_mark *m)
{
	struct proto *p = &x->p;

	proto_end(p);
	if (m && !m->name->told && m->name->id > NR_TIMELINE_WORDS)
		put_new_texts(p, m->name, m->frame ? m->frame->type : NULL,
			      m->frame ? m->frame->frame->plan : NULL);
	perfetto_end_packet(x);
}

static void draw_mark(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
		      const struct timeline_mark *m, enum event_type type)
{
	struct perfetto *x = perfetto_of(v);

	put_mark(perfetto_begin_event(x, t, ts, type), m);
	perfetto_end_event(x, m);
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
	struct perfetto *x = perfetto_of(v);

	(void)name; /* ends the open slice of the track */
	perfetto_begin_event(x, t, ts, SLICE_END);
	perfetto_end_event(x, NULL);
}

static void perfetto_draw_counter(struct timeline_view *v, const struct timeline_track *t,
				  uint64_t ts, const struct cell *value)
{
	struct perfetto *x = perfetto_of(v);
	struct proto *p = perfetto_begin_event(x, t, ts, COUNTER);

	if (value->kind == CELL_SIGNED)
		proto_i64(p, EVENT_COUNTER, value->i);
	else if (value->kind == CELL_UNSIGNED && value->u <= INT64_MAX)
		proto_u64(p, EVENT_COUNTER, value->u);
	else
		proto_double(p, EVENT_DOUBLE_COUNTER,
			     value->kind == CELL_UNSIGNED ? (double)value->u
			     : value->kind == CELL_FLOAT  ? (double)value->f
							  : value->d);
	perfetto_end_event(x, NULL);
}

/* ---- facts --------------------------------------------------------------- */

static void perfetto_draw_run(struct timeline_view *v, const struct sidecar_run *run)
{
	struct perfetto *x = perfetto_of(v);

	x->start = run->start_ts <= INT64_MAX ? run->start_ts : 0;
	if (x->start && run->start_realtime <= INT64_MAX)
		x->realtime = run->start_realtime;
}

static void perfetto_set_clock(struct perfetto *x, const struct frame_clock *c)
{
	x->clock = c->id == CLOCK_REALTIME        ? CLOCK_IS_REALTIME
		   : c->id == CLOCK_MONOTONIC_RAW ? CLOCK_IS_MONOTONIC_RAW
		   : c->id == CLOCK_BOOTTIME      ? CLOCK_IS_BOOTTIME
						  : CLOCK_IS_MONOTONIC;
	x->start = c->start;
	x->realtime = c->realtime;
	x->is_recording = true;
}

static void perfetto_draw_site(struct timeline_view *v, const struct trace_site *site)
{
	struct perfetto *x = perfetto_of(v);
	struct proto *p = perfetto_begin_packet(x);

	proto_begin(p, PACKET_INTERNED);
	proto_begin(p, INTERNED_PLACES);
	proto_u64(p, 1, site->id);
	perfetto_put_text(p, 2, site->file ? site->file : "");
	perfetto_put_text(p, 3, site->function ? site->function : "");
	proto_u64(p, 4, site->line);
	proto_end(p);
	proto_end(p);
	perfetto_end_packet(x);
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
	x->clock = CLOCK_IS_MONOTONIC;
	if (job->recording) {
		const struct frame_clock clock = frame_timeline_clock(&x->viewer.frames);

		perfetto_set_clock(x, &clock);
	}
	job->state = x;
	return 0;
}

static int perfetto_frame(struct sink_job *job, const struct frame_shown *frame, struct err *err)
{
	struct perfetto *x = job->state;
	int rc = viewer_frame(&x->viewer, frame, err);

	return rc == 0 && x->p.error ? viewer_no_memory(err) : rc;
}

static void perfetto_mark(struct sink_job *job, const struct recording_mark *mark)
{
	frame_timeline_mark(&((struct perfetto *)job->state)->viewer.frames, mark);
}

static int perfetto_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct perfetto *x = job->state;
	int rc = viewer_item(&x->viewer, job, item, err);

	return rc == 0 && x->p.error ? viewer_no_memory(err) : rc;
}

static int perfetto_commit(struct sink_job *job, struct err *err)
{
	struct perfetto *x = job->state;
	int rc = viewer_finish(&x->viewer, job, err);

	if (rc < 0)
		return rc;
	perfetto_begin_trace(x);
	perfetto_flush(x);
	if (x->p.error)
		return viewer_no_memory(err);
	viewer_note(job, "open it with https://ui.perfetto.dev");
	return viewer_commit(&x->viewer, job, err);
}

static void perfetto_perfetto_close(struct sink_job *job)
{
	struct perfetto *x = job->state;

	viewer_close(&x->viewer);
	proto_release(&x->p);
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
	.open = perfetto_perfetto_open,
	.item = perfetto_item,
	.frame = perfetto_frame,
	.mark = perfetto_mark,
	.commit = perfetto_commit,
	.close = perfetto_perfetto_close,
	.drop = perfetto_drop,
};

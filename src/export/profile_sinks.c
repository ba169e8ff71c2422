/* SPDX-License-Identifier: MIT */
/*
 * profile_sinks.c - exports of the time of coroutines by stack: folded, pprof, speedscope.
 *
 * Of a trace: the states of its coroutines (state_profile.h).  Of a recording: the intervals of its
 * frames, by frame type and member.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/profile_formats.h"
#include "export/sink.h"
#include "export/state_profile.h"
#include "export/viewer.h"

struct profile_sink {
	struct timeline_view view; /* of a recording; first member: cast to and from */
	struct state_profile profile;
	struct frame_timeline frames;
	struct outfile file;
	uint64_t begin_ts; /* of a recording: the slice that is being drawn */
	uint64_t first_ts, last_ts;
	uint32_t level;
	bool no_memory;
};

/* ---- recordings ------------------------------------------------------------ */

static void profile_draw_begin(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			       const struct timeline_mark *m)
{
	struct profile_sink *x = (struct profile_sink *)v;
	struct time_tree *tree = &x->profile.tree;
	int64_t type = time_tree_place(tree, m->frame->type->category.text, NULL, 0);
	int64_t member = time_tree_place(tree, m->name->text, NULL, 0);
	int64_t level = type < 0 ? type : time_tree_child(tree, 0, (uint32_t)type);

	(void)t;
	if (level >= 0 && member >= 0)
		level = time_tree_child(tree, (uint32_t)level, (uint32_t)member);
	x->no_memory |= level < 0 || member < 0;
	x->level = level < 0 ? 0 : (uint32_t)level;
	x->begin_ts = ts;
	if (!x->first_ts || ts < x->first_ts)
		x->first_ts = ts;
}

static void profile_draw_end(struct timeline_view *v, const struct timeline_track *t, uint64_t ts,
			     const struct timeline_name *name)
{
	struct profile_sink *x = (struct profile_sink *)v;

	(void)t;
	(void)name;
	if (x->level)
		time_tree_add(&x->profile.tree, x->level, ts - x->begin_ts);
	x->last_ts = ts > x->last_ts ? ts : x->last_ts;
}

static void profile_draw_instant(struct timeline_view *v, const struct timeline_track *t,
				 uint64_t ts, const struct timeline_mark *m)
{
	(void)v;
	(void)t;
	(void)ts;
	(void)m;
}

static void profile_draw_counter(struct timeline_view *v, const struct timeline_track *t,
				 uint64_t ts, const struct cell *value)
{
	(void)v;
	(void)t;
	(void)ts;
	(void)value;
}

static void profile_draw_track(struct timeline_view *v, const struct timeline_track *t)
{
	(void)v;
	(void)t;
}

static int sink_profile_frame(struct sink_job *job, const struct frame_shown *frame,
			      struct err *err)
{
	struct profile_sink *x = job->state;

	frame_timeline_frame(&x->frames, frame);
	return x->no_memory ? viewer_no_memory(err) : 0;
}

/* ---- the sinks --------------------------------------------------------------- */

static int profile_sink_open(struct sink_job *job, struct err *err)
{
	static const struct timeline_view view = {
		.track = profile_draw_track,
		.begin = profile_draw_begin,
		.end = profile_draw_end,
		.instant = profile_draw_instant,
		.counter = profile_draw_counter,
	};
	struct profile_sink *x = calloc(1, sizeof(*x));
	int rc = 0;

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	x->view = view;
	state_profile_init(&x->profile, &job->options->filter);
	if (job->recording)
		rc = frame_timeline_init(&x->frames, &x->view, job->recording, job->plans);
	rc = rc < 0 ? viewer_no_memory(err) : outfile_open(&x->file, job->output, err);
	if (rc < 0) {
		frame_timeline_release(&x->frames);
		free(x);
		return rc;
	}
	job->state = x;
	return 0;
}

static int profile_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct profile_sink *x = job->state;

	job->rows += item->type == TRACE_ITEM_EVENT;
	return state_profile_add(&x->profile, item) < 0 ? viewer_no_memory(err) : 0;
}

static struct profile_head profile_head_of(struct profile_sink *x, const struct sink_job *job)
{
	static const char *names[NR_PROFILED_STATES];
	const struct state_profile *p = &x->profile;
	struct profile_head head = { .what = "states", .states = names };
	unsigned i;

	for (i = 0; i < NR_PROFILED_STATES; i++)
		names[i] = profiled_state_name(i);
	head.name = p->program ? p->program : job->options->trace;
	head.nr_states = NR_PROFILED_STATES;
	head.start_realtime = p->start_realtime;
	head.duration_ns = p->end_ts - (p->start_ts ? p->start_ts : p->first_ts);
	if (job->recording) {
		head.what = "frames";
		head.nr_states = 0;
		head.start_realtime = frame_timeline_clock(&x->frames).realtime;
		head.duration_ns = x->last_ts - x->first_ts;
	}
	return head;
}

/* After the last item.  0 or -ENOMEM. */
static int profile_sink_finish(struct sink_job *job)
{
	struct profile_sink *x = job->state;

	if (job->recording) {
		frame_timeline_finish(&x->frames);
		job->counts = x->frames.counts;
		return 0;
	}
	return state_profile_finish(&x->profile);
}

/* @written is the result of writing the format. */
static int profile_settle(struct sink_job *job, int written, const char *how, struct err *err)
{
	struct profile_sink *x = job->state;
	int rc = written < 0 ? viewer_no_memory(err) : outfile_commit(&x->file, err);

	viewer_note(job, how);
	job->bytes = x->file.bytes;
	job->left_out = x->profile.window.late + x->profile.impossible;
	job->rows -= job->left_out;
	return rc;
}

static int folded_commit(struct sink_job *job, struct err *err)
{
	struct profile_sink *x = job->state;
	int rc = profile_sink_finish(job);

	if (rc == 0)
		profile_put_folded(&x->file, &x->profile.tree);
	return profile_settle(job, rc, "open it with flamegraph.pl or https://www.speedscope.app",
			      err);
}

static int pprof_commit(struct sink_job *job, struct err *err)
{
	struct profile_sink *x = job->state;
	int rc = profile_sink_finish(job);
	const struct profile_head head = profile_head_of(x, job);

	if (rc == 0)
		rc = profile_put_pprof(&x->file, &x->profile.tree, &head);
	return profile_settle(job, rc, "open it with go tool pprof -http=: FILE", err);
}

static int speedscope_commit(struct sink_job *job, struct err *err)
{
	struct profile_sink *x = job->state;
	int rc = profile_sink_finish(job);
	const struct profile_head head = profile_head_of(x, job);

	if (rc == 0)
		rc = profile_put_speedscope(&x->file, &x->profile.tree, &head);
	return profile_settle(job, rc, "open it with https://www.speedscope.app", err);
}

static void profile_sink_close(struct sink_job *job)
{
	struct profile_sink *x = job->state;

	state_profile_release(&x->profile);
	frame_timeline_release(&x->frames);
	outfile_close(&x->file);
	free(x);
}

static void profile_drop(struct sink_job *job)
{
	outfile_drop(&((struct profile_sink *)job->state)->file);
}

/* All that they have in common. */
#define PROFILE_SINK                                                                           \
	.to_stdout = true, .reads_all = true, .open = profile_sink_open, .item = profile_item, \
	.frame = sink_profile_frame, .close = profile_sink_close, .drop = profile_drop

const struct sink sink_folded = {
	.name = "folded",
	.about = "time by stack, a line each, for flamegraph.pl",
	.suffix = ".folded",
	PROFILE_SINK,
	.commit = folded_commit,
};

const struct sink sink_pprof = {
	.name = "pprof",
	.about = "time by stack, for pprof",
	.suffix = ".pb.gz",
	PROFILE_SINK,
	.commit = pprof_commit,
};

const struct sink sink_speedscope = {
	.name = "speedscope",
	.about = "time by stack, for https://www.speedscope.app",
	.suffix = ".speedscope.json",
	PROFILE_SINK,
	.commit = speedscope_commit,
};

/* SPDX-License-Identifier: MIT */
/* viewer.c - shared by the exports to timeline viewers: the timeline and the file. */
#include "export/viewer.h"

#include <errno.h>
#include <stdio.h>

int viewer_no_memory(struct err *err)
{
	err_set(err, -ENOMEM, "no memory for the timeline");
	err_hint(err, "it needs memory for each live coroutine");
	return err->code;
}

int viewer_open(struct viewer *v, struct timeline_view *view, struct sink_job *job, struct err *err)
{
	int rc = 0;

	v->timeline.view = view;
	if (job->recording)
		rc = frame_timeline_init(&v->frames, view, job->recording, job->plans);
	rc = rc < 0 ? viewer_no_memory(err) : outfile_open(&v->file, job->output, err);
	if (rc < 0)
		frame_timeline_release(&v->frames);
	return rc;
}

int viewer_frame(struct viewer *v, const struct frame_shown *frame, struct err *err)
{
	frame_timeline_frame(&v->frames, frame);
	return v->file.error ? outfile_settle(&v->file, err) : 0; /* sets the error */
}

int viewer_item(struct viewer *v, struct sink_job *job, const struct trace_item *item,
		struct err *err)
{
	if (timeline_add(&v->timeline, item) < 0)
		return viewer_no_memory(err);
	job->rows += item->type == TRACE_ITEM_EVENT;
	return v->file.error ? outfile_commit(&v->file, err) : 0; /* sets the error */
}

int viewer_finish(struct viewer *v, struct sink_job *job, struct err *err)
{
	const struct trace_stats *s = job->stats;
	struct timeline_damage damage = { 0 };

	if (s) {
		damage.lines = s->lines.garbage + s->sidecar.garbage;
		damage.packets = s->ctf.damaged + s->ctf.missing + s->ctf.torn;
	}
	if (job->recording) {
		frame_timeline_finish(&v->frames);
		job->counts = v->frames.counts;
		return 0;
	}
	return timeline_finish(&v->timeline, &damage) < 0 ? viewer_no_memory(err) : 0;
}

void viewer_note(struct sink_job *job, const char *how)
{
	snprintf(job->note, sizeof(job->note), "%s", how);
}

int viewer_commit(struct viewer *v, struct sink_job *job, struct err *err)
{
	int rc = outfile_commit(&v->file, err);

	job->bytes = v->file.bytes;
	job->left_out = v->timeline.window.late + v->timeline.impossible;
	job->rows -= job->left_out;
	return rc;
}

void viewer_close(struct viewer *v)
{
	timeline_release(&v->timeline);
	frame_timeline_release(&v->frames);
	outfile_close(&v->file);
}

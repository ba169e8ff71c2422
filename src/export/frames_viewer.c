/* SPDX-License-Identifier: MIT */
/* frames_viewer.c - shared by the sinks that show a recording on a time line. */
#include "export/frames_viewer.h"

#include <errno.h>
#include <stdlib.h>

#include "export/viewer.h"

void *frames_viewer_open(struct sink_job *job, size_t size, const struct frame_view *view,
			 struct err *err)
{
	struct frame_timeline *t = calloc(1, size);

	if (!t) {
		err_set(err, -ENOMEM, "no memory to write '%s'", job->output);
		return NULL;
	}
	if (outfile_open(&t->out, job->output, err) < 0) {
		free(t);
		return NULL;
	}
	frame_timeline_init(t, view, job->recording);
	job->state = t;
	return t;
}

static int frames_viewer_check(struct frame_timeline *t, struct err *err)
{
	int error = t->view->error(t);

	if (error)
		return err_set(err, error, "no memory to write '%s'", t->out.path);
	return t->out.error ? outfile_settle(&t->out, err) : 0;
}

int frames_viewer_frame(struct sink_job *job, const struct frame_shown *frame, struct err *err)
{
	frame_timeline_frame(job->state, frame);
	return frames_viewer_check(job->state, err);
}

void frames_viewer_mark(struct sink_job *job, const struct recording_mark *mark)
{
	frame_timeline_mark(job->state, mark);
}

int frames_viewer_commit(struct sink_job *job, struct err *err)
{
	struct frame_timeline *t = job->state;
	int rc;

	t->view->finish(t);
	rc = frames_viewer_check(t, err);
	if (!rc)
		rc = outfile_commit(&t->out, err);
	job->bytes = t->out.bytes;
	job->counts = t->counts;
	viewer_note(job, t->view->note);
	return rc;
}

void frames_viewer_close(struct sink_job *job)
{
	struct frame_timeline *t = job->state;

	t->view->release(t);
	outfile_close(&t->out);
	free(t);
}

void frames_viewer_drop(struct sink_job *job)
{
	struct frame_timeline *t = job->state;

	outfile_drop(&t->out);
}

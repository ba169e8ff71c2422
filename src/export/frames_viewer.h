/* SPDX-License-Identifier: MIT */
/*
 * frames_viewer.h - shared by the sinks that show a recording on a time line.
 *
 * The state of such a sink begins with a struct frame_timeline.
 */
#ifndef EXPORT_FRAMES_VIEWER_H
#define EXPORT_FRAMES_VIEWER_H

#include "export/sink.h"

/* Makes the state, of @size bytes, and opens the file.  NULL with a message in @err. */
void *frames_viewer_open(struct sink_job *job, size_t size, const struct frame_view *view,
			 struct err *err);
int frames_viewer_frame(struct sink_job *job, const struct frame_shown *frame, struct err *err);
void frames_viewer_mark(struct sink_job *job, const struct recording_mark *mark);
int frames_viewer_commit(struct sink_job *job, struct err *err);
void frames_viewer_close(struct sink_job *job);
void frames_viewer_drop(struct sink_job *job);

#define FRAMES_VIEWER_SINK                                                           \
	.to_stdout = true, .frame = frames_viewer_frame, .mark = frames_viewer_mark, \
	.commit = frames_viewer_commit, .close = frames_viewer_close, .drop = frames_viewer_drop

#endif

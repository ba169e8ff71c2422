/* SPDX-License-Identifier: MIT */
/* viewer.h - shared by the exports to timeline viewers: the timeline and the file. */
#ifndef EXPORT_VIEWER_H
#define EXPORT_VIEWER_H

#include "base/output_file.h"
#include "export/sink.h"
#include "export/timeline.h"

struct viewer {
	struct timeline timeline;     /* of a trace */
	struct frame_timeline frames; /* of a recording */
	struct outfile file;
};

/* Returns 0, or an error with nothing left behind. */
int viewer_open(struct viewer *v, struct timeline_view *view, struct sink_job *job,
		struct err *err);

int viewer_item(struct viewer *v, struct sink_job *job, const struct trace_item *item,
		struct err *err);

int viewer_frame(struct viewer *v, const struct frame_shown *frame, struct err *err);

/* After the last item or frame: passes everything that is left to the view. */
int viewer_finish(struct viewer *v, struct sink_job *job, struct err *err);

/* Sets the note that says how to open the output. */
void viewer_note(struct sink_job *job, const char *how);

/* Renames the file to its final name. */
int viewer_commit(struct viewer *v, struct sink_job *job, struct err *err);
void viewer_close(struct viewer *v);

int viewer_no_memory(struct err *err);

#endif

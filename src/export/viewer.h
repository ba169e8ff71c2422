/* SPDX-License-Identifier: MIT */
/* viewer.h - what the exports to timeline viewers have in common: the timeline and the file. */
#ifndef EXPORT_VIEWER_H
#define EXPORT_VIEWER_H

#include "base/output_file.h"
#include "export/sink.h"
#include "export/timeline.h"

struct viewer {
	struct timeline timeline;
	struct outfile file;
};

/* 0, or nothing is left behind. */
int viewer_open(struct viewer *v, struct timeline_view *view, struct sink_job *job,
		struct err *err);
int viewer_item(struct viewer *v, struct sink_job *job, const struct trace_item *item,
		struct err *err);

/* After the last item: the view is given all that is left. */
int viewer_finish(struct viewer *v, struct sink_job *job, struct err *err);

/* How to open it. */
void viewer_note(struct sink_job *job, const char *how);

/* The file gets its name. */
int viewer_commit(struct viewer *v, struct sink_job *job, struct err *err);
void viewer_close(struct viewer *v);

int viewer_no_memory(struct err *err);

#endif

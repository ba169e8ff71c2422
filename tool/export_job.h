/* SPDX-License-Identifier: MIT */
/* export_job.h - one export, as `export` and the seeds' flags ask for it. */
#ifndef TOOL_EXPORT_JOB_H
#define TOOL_EXPORT_JOB_H

#include "cmd.h"
#include "export/export.h"

struct export_job {
	const char *command; /* in messages; NULL: export, "": that of the old flags */
	const char *kind;    /* NULL: not told */
	struct export_options options;
	bool json;
};

/* Returns the exit status. */
int export_job_run(struct export_job *job);

/* Is @path ("-": standard input) a recording of frames?  Then this is its export to @kind. */
bool export_is_frames(const char *path);
int export_frames(const struct export_job *job, const char *kind);

/* The tables' SQL on stdout; the trace is the name of a database, or NULL for all. */
int export_schema(const struct export_job *job);

#endif

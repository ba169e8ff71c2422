/* SPDX-License-Identifier: MIT */
/* export_job.h - one export, for `export` and the flags of the existing coroTracer. */
#ifndef TOOL_EXPORT_JOB_H
#define TOOL_EXPORT_JOB_H

#include "base/printer.h"
#include "cmd.h"
#include "export/export.h"
#include "export_otlp.h"

struct export_job {
	const char *command; /* for messages; NULL: export, "": the existing coroTracer's flags */
	const char *kind;    /* NULL: not given */
	struct export_options options;
	struct otlp_options otlp;
	bool json;
};

/* Returns the exit status. */
int export_job_run(struct export_job *job);

/* True if @path ("-": standard input) is a recording of frames, for export_frames(). */
bool export_is_frames(const char *path);
int export_frames(const struct export_job *job, const struct sink *sink);

/* Frames that the program wrote and the collector did not get. */
uint64_t export_frames_lost(const struct recfile_stats *s);

/* The first fields of a summary; in text the name of the output. */
void export_print_output(struct printer *p, const struct export_job *job,
			 const struct export_result *r);

/* Returns @status; an export that a signal ended ends the process by that signal. */
int export_status(int status, const struct export_result *r);

/* Slow waits and findings as spans of OpenTelemetry.  Returns the exit status. */
int export_otlp(const struct export_job *job);

/* Print the SQL of the tables; the operand is the name of a database, or NULL for all. */
int export_schema(const struct export_job *job);

#endif

/* SPDX-License-Identifier: MIT */
/* findings_job.h - report on a trace and store the findings: for `load` and `fleet add-findings`.
 */
#ifndef TOOL_FINDINGS_JOB_H
#define TOOL_FINDINGS_JOB_H

#include <stdbool.h>

#include "ship/ship_labels.h"

struct findings_job {
	const char *command; /* for messages */
	const char *trace;
	const char *url; /* of the store */
	bool quiet;      /* do not print how many there were */
	struct ship_labels labels;
};

/*
 * Run the job in a process of its own: it reads debug information, see guard.c.  Returns the exit
 * status, after messages.
 */
int findings_job_start(const struct findings_job *job);

/*
 * Store the findings of a run that was shipped to @receiver, if a store is known: the receiver, or
 * COROTRACER_FLEET.  Returns the exit status.
 */
int findings_job_of_run(const char *command, const char *trace, const char *receiver);

/* The labels that the trace was shipped with.  -ENOENT: it was not shipped. */
int findings_job_labels(struct findings_job *job, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * html_job.h - convert a trace to a page in a file: for `html`, and for -html of the existing
 * coroTracer.
 */
#ifndef TOOL_HTML_JOB_H
#define TOOL_HTML_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/trace_filter.h"

struct html_job {
	const char *command; /* for messages; NULL: the tool itself */
	const char *trace;
	struct trace_filter filter;
	const char *output; /* NULL: TRACE.html; "-": standard output */
	const char *page;   /* a file to use instead of the embedded page; NULL: none */
	uint64_t max_size;  /* 0: default */
	uint64_t min_age_ns;
	const char *notes; /* a file with notes for the page; NULL: none */
	bool json, quiet;
};

/* Returns the exit status. */
int html_job_run(const struct html_job *job);

#endif

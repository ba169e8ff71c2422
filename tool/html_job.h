/* SPDX-License-Identifier: MIT */
/* html_job.h - from a trace to a page in a file: for `html` and the seeds' -html. */
#ifndef TOOL_HTML_JOB_H
#define TOOL_HTML_JOB_H

#include <stdbool.h>
#include <stdint.h>

struct html_job {
	const char *command; /* for messages; NULL: the tool itself */
	const char *trace;
	const char *output; /* NULL: TRACE.html; "-": standard output */
	const char *page;   /* a file in place of the page that is built in; NULL: none */
	uint64_t max_size;  /* 0: as usual */
	uint64_t min_age_ns;
	bool json, quiet;
};

/* The exit status. */
int html_job_run(const struct html_job *job);

#endif

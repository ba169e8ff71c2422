/* SPDX-License-Identifier: MIT */
/* report_job.h - run one report: for `report` and `run --check`. */
#ifndef TOOL_REPORT_JOB_H
#define TOOL_REPORT_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/finding.h"
#include "report_memory.h"
#include "trace/trace_filter.h"

/* Text is the default on a terminal, Markdown elsewhere. */
enum report_form { REPORT_MARKDOWN, REPORT_TEXT, REPORT_JSON, REPORT_SARIF, REPORT_JUNIT };

/* Auto: if the output is a terminal and NO_COLOR is not set. */
enum report_color { REPORT_COLOR_AUTO, REPORT_COLOR_NEVER, REPORT_COLOR_ALWAYS };

#define REPORT_DETECTORS_MAX 64

struct report_job {
	const char *command; /* for messages */
	const char *trace;
	struct trace_filter filter;
	const char *output; /* NULL: stdout */
	enum report_form form;
	bool has_form; /* false: text on a terminal, else Markdown */
	bool all;      /* text and Markdown: every group in full */
	enum report_color color;
	const char *source_root;  /* SARIF: NULL: the git checkout around ".", or "." */
	const char *suppressions; /* file; NULL: none */
	bool gen_suppressions;    /* print rules instead of the report */
	bool quiet;               /* no output unless the gate is hit */
	bool of_a_test;           /* suspended at exit is strong: set by report_job_fail_on() */
	bool to_stderr;
	enum confidence least;            /* to show */
	bool has_least;                   /* by the user's choice: then it is also the gate's */
	uint64_t min_age_ns;              /* 0: default */
	bool fails[REPORT_DETECTORS_MAX]; /* by detector number */
	bool named[REPORT_DETECTORS_MAX]; /* of these: not only by 'all' */
	struct report_memory memory;      /* --mem */
};

/* Parse "lost-wakeup,leak", or "all" for every fault; false after an error message. */
bool report_job_fail_on(struct report_job *job, const char *list);

/*
 * Call after all options are set: false, after an error message, if the gate asks for findings that
 * never are as sure as the gate demands.
 */
bool report_job_check_gate(const struct report_job *job);

/*
 * Read the trace, analyze it, write the report.  Returns EXIT_FAILED on an error, or if the gate is
 * hit.
 */
int report_job_run(struct report_job *job);

#endif

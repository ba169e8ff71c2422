/* SPDX-License-Identifier: MIT */
/* cmd_report.c - `corotracer report`: report problems found in a trace, and where they are. */
#include <stdio.h>
#include <string.h>

#include "analyze/detector.h"
#include "cmd.h"
#include "filter_opts.h"
#include "report_job.h"

static int list_detectors(void)
{
	const struct detector *const *d;

	for (d = detectors; *d; d++)
		printf("%-20s %s  %s\n", (*d)->name, (*d)->is_fault ? "fault" : "info ",
		       (*d)->meaning);
	return EXIT_OK;
}

struct report_options {
	struct report_job job;
	bool list;
};

static bool parse_fail_on(void *job, const struct opt_use *use)
{
	return report_job_fail_on(job, use->value);
}

/* A row for one form of the report. */
#define FORM_OPT(word, value, text)                                                     \
	{                                                                               \
		0, word, NULL, text, OPT_VALUE(struct report_options, job.form, value), \
			OPT_GIVEN(struct report_options, job.has_form)                  \
	}

static const struct opt options[] = {
	{ 'o', "output", "FILE", "output file (default: standard output)",
	  OPT_TEXT(struct report_options, job.output) },
	FORM_OPT("text", REPORT_TEXT, "text (default on a terminal)"),
	FORM_OPT("markdown", REPORT_MARKDOWN, "Markdown (default elsewhere)"),
	{ 0, "json", "[=FILE]", "one JSON object",
	  OPT_VALUE(struct report_options, job.form, REPORT_JSON),
	  OPT_GIVEN(struct report_options, job.has_form) },
	FORM_OPT("sarif", REPORT_SARIF, "SARIF, for code scanning"),
	{ 0, "source-root", "DIR", "SARIF: root of relative paths (default: the git checkout)",
	  OPT_TEXT(struct report_options, job.source_root), .is_rare = true },
	FORM_OPT("junit", REPORT_JUNIT, "JUnit: a test suite with one case per detector"),
	{ 0, "all", NULL, "print all groups in full", OPT_FLAG(struct report_options, job.all) },
	{ 0, "color", "WHEN", "color of text: auto (default), always or never",
	  OPT_CHOICE(struct report_options, job.color, "auto, never or always",
		     REPORT_COLOR_AUTO) },
	{ 0, "fail-on", "LIST", "exit 1 on strong findings of: leak,... or all",
	  OPT_CALL(struct report_options, job, parse_fail_on), .takes_detectors = true },
	{ 0, "min-confidence", "WHAT", "least confidence: info, suspect, strong or proven",
	  OPT_CHOICE(struct report_options, job.least, "info, suspect, strong or proven",
		     CONFIDENCE_INFO),
	  OPT_GIVEN(struct report_options, job.has_least) },
	{ 0, "min-age", "MS", "ignore suspensions shorter than MS (default 1000)",
	  OPT_UNITS(struct report_options, job.min_age_ns, 1, 1000ull * 60 * 60 * 24 * 365,
		    1000000) },
	{ 0, "suppressions", "FILE", "known findings to ignore: DETECTOR:function:GLOB lines",
	  OPT_TEXT(struct report_options, job.suppressions) },
	{ 0, "gen-suppressions", NULL, "print such lines for all findings",
	  OPT_FLAG(struct report_options, job.gen_suppressions), .is_rare = true },
	FILTER_TIME_OPTS_SHORT(struct report_options, job.filter,
			       "only from TIME on (10s, 5ms); --to, --coro, --site, --kind"),
	FILTER_EVENT_OPTS_SHORT(struct report_options, job.filter),
	FILTER_PART_OPT(struct report_options, job.filter.part, "only this part of a merged trace"),
	{ 0, "mem", "[=FILE]", "simulate TRACE.memory: sites that wait on memory",
	  OPT_TEXT(struct report_options, job.memory.file),
	  OPT_GIVEN(struct report_options, job.memory.wanted) },
	{ 0, "list", NULL, "list the detectors", OPT_FLAG(struct report_options, list) },
	{ .name = NULL },
};

static int run_report(int argc, char **argv)
{
	struct report_options o = { .job.command = "report" };
	int first, status = opts_parse(&command_report, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (o.list && first == argc)
		return list_detectors();
	o.job.trace = opts_operand(&command_report, argc, argv, first);
	if (!o.job.trace || !report_job_check_gate(&o.job))
		return EXIT_USAGE;
	return report_job_run(&o.job);
}

const struct command command_report = {
	.name = "report",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "find problems in a trace: lost wakeups, leaks, blocking and more",
	.details = "Where events are missing that could explain a finding, it is at most suspect.\n"
		   "Exit status: 0 done; 1 --fail-on matched, the trace is incomplete (with "
		   "--fail-on:\n"
		   "or has no end), or the command failed; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_report,
};

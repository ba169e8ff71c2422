/* SPDX-License-Identifier: MIT */
/* cmd_html.c - `corotracer html`: write a trace as one page for a browser. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "filter_opts.h"
#include "html_job.h"
#include "view/html.h"

static const struct opt options[] = {
	{ 'o', "output", "FILE", "output file (default TRACE.html); - is standard output",
	  OPT_TEXT(struct html_job, output) },
	{ 0, "max-size", "SIZE", "omit detail to stay below SIZE (default 40 MB)",
	  OPT_SIZE(struct html_job, max_size, HTML_SIZE_MIN, 1ull << 34) },
	{ 0, "min-age", "MS", "ignore suspensions shorter than MS (default 1000)",
	  OPT_UNITS(struct html_job, min_age_ns, 1, 1000ull * 60 * 60 * 24 * 365, 1000000) },
	{ 0, "page", "FILE", "use this page instead of the built-in one",
	  OPT_TEXT(struct html_job, page) },
	{ 0, "notes", "FILE", "add the notes that the page saved, or those of an earlier page",
	  OPT_TEXT(struct html_job, notes) },
	{ 'q', "quiet", NULL, "print only what is missing", OPT_FLAG(struct html_job, quiet) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object",
	  OPT_FLAG(struct html_job, json) },
	FILTER_TIME_OPTS(struct html_job, filter),
	FILTER_COROUTINE_OPTS(struct html_job, filter),
	FILTER_PART_OPT(struct html_job, filter.part, "only this part of a merged trace"),
	{ .name = NULL },
};

static int run_html(int argc, char **argv)
{
	struct html_job job = { .command = "html" };
	int first, status = opts_parse(&command_html, &job, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	job.trace = opts_operand(&command_html, argc, argv, first);
	if (!job.trace)
		return EXIT_USAGE;
	if (!strcmp(job.trace, "-") && !job.output) {
		message_print("html",
			      "a trace from standard input has no name to name the page by");
		fputs("hint: -o FILE names it\n", stderr);
		return EXIT_USAGE;
	}
	return html_job_run(&job);
}

const struct command command_html = {
	.name = "html",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "write a trace as one HTML page that needs no network",
	.details =
		"TRACE is any trace that 'report' accepts: JSON lines of any cTP tool, or CTF.  "
		"The\n"
		"page has the report, every coroutine, and as much of the timeline as --max-size\n"
		"allows; the command and the page say what was omitted.  Slices go through a\n"
		"temporary file in TMPDIR (/var/tmp), 64 bytes each.\n"
		"\n"
		"Exit status: 0 done; 1 failed, or the trace is incomplete; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_html,
};

/* SPDX-License-Identifier: MIT */
/* cmd_html.c - `corotracer html`: write a trace as one page for a browser. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "html_job.h"
#include "view/html.h"

static const struct opt options[] = {
	{ 'o', "output", "FILE", "the page (TRACE.html); - is standard output",
	  OPT_TEXT(struct html_job, output) },
	{ 0, "max-size", "SIZE", "leave out detail to stay below it (40 MB)",
	  OPT_SIZE(struct html_job, max_size, HTML_SIZE_MIN, 1ull << 34) },
	{ 0, "min-age", "MS", "shorter suspensions are nothing unusual (1000)",
	  OPT_UNITS(struct html_job, min_age_ns, 1, 1000ull * 60 * 60 * 24 * 365, 1000000) },
	{ 0, "page", "FILE", "put the data into this page, not the built-in one",
	  OPT_TEXT(struct html_job, page) },
	{ 'q', "quiet", NULL, "say only what is missing", OPT_FLAG(struct html_job, quiet) },
	{ 0, "json", NULL, "say what was written as one JSON object",
	  OPT_FLAG(struct html_job, json) },
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
	.summary = "write a trace as one page that a browser opens, with no network",
	.details =
		"TRACE is what 'report' takes, too: JSON lines of any cTP tool, or CTF.  The page\n"
		"holds the report, every coroutine, and as much of the timeline as --max-size\n"
		"allows; what was left out is said here and in the page.  Slices go through a\n"
		"temporary file in TMPDIR (/var/tmp), 64 bytes each.\n"
		"\n"
		"Exit status: 0 done; 1 failed, or done and the trace is incomplete; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_html,
};

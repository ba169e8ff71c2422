/* SPDX-License-Identifier: MIT */
/* cmd_html.c - `corotracer html`: write a trace as one page for a browser. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "html_job.h"
#include "view/html.h"

enum { O_OUTPUT, O_MAX_SIZE, O_MIN_AGE, O_PAGE, O_QUIET, O_JSON };
static const struct opt options[] = {
	[O_OUTPUT] = { 'o', "output", "FILE", "the page (TRACE.html); - is standard output" },
	[O_MAX_SIZE] = { 0, "max-size", "SIZE", "leave out detail to stay below it (40 MB)" },
	[O_MIN_AGE] = { 0, "min-age", "MS", "shorter suspensions are nothing unusual (1000)" },
	[O_PAGE] = { 0, "page", "FILE", "put the data into this page, not the built-in one" },
	[O_QUIET] = { 'q', "quiet", NULL, "say only what is missing" },
	[O_JSON] = { 0, "json", NULL, "say what was written as one JSON object" },
	{ 0, NULL, NULL, NULL },
};

static bool set(struct html_job *job, int which, const char *value)
{
	unsigned long long number;

	switch (which) {
	case O_OUTPUT:
		job->output = value;
		return true;
	case O_MAX_SIZE:
		if (!opt_size("html", "max-size", value, HTML_SIZE_MIN, 1ull << 34, &number))
			return false;
		job->max_size = number;
		return true;
	case O_MIN_AGE:
		if (!opt_number("html", "min-age", value, 1, 1000ull * 60 * 60 * 24 * 365, &number))
			return false;
		job->min_age_ns = number * 1000000;
		return true;
	case O_PAGE:
		job->page = value;
		return true;
	case O_QUIET:
		job->quiet = true;
		return true;
	default:
		job->json = true;
		return true;
	}
}

static int run(int argc, char **argv)
{
	struct html_job job = { .command = "html" };
	struct opt_walk walk = { 0 };
	const char *value;
	int first, which;

	while ((which = opt_next(&command_html, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set(&job, which, value))
			return EXIT_USAGE;
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (argc - first != 1) {
		say("html", first == argc ? "which trace?" : "one trace at a time");
		fputs("hint: corotracer html trace.jsonl -o page.html\n", stderr);
		return EXIT_USAGE;
	}
	job.trace = argv[first];
	if (!strcmp(job.trace, "-") && !job.output) {
		say("html", "a trace from standard input has no name to name the page by");
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
	.run = run,
};

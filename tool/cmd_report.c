/* SPDX-License-Identifier: MIT */
/* cmd_report.c - `corotracer report`: report problems found in a trace, and where they are. */
#include <stdio.h>
#include <string.h>

#include "analyze/detector.h"
#include "cmd.h"
#include "report_job.h"

static const struct opt options[];

static int list_detectors(void)
{
	const struct detector *const *d;

	for (d = detectors; *d; d++)
		printf("%-20s %s  %s\n", (*d)->name, (*d)->is_fault ? "fault" : "info ",
		       (*d)->meaning);
	return EXIT_OK;
}

static bool set_form(struct report_job *job, const char *name)
{
	static const char *const forms[] = { "markdown", "text", "json", "sarif", "junit" };
	size_t i;

	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (!strcmp(name, forms[i])) {
			job->form = (enum report_form)i;
			job->is_default_form = false;
			return true;
		}
	}
	return false;
}

static bool set_confidence(struct report_job *job, const char *value)
{
	int level = confidence_from_name(value);

	if (level < 0) {
		say("report", "'%s' is no confidence", value);
		fputs("hint: info, suspect, strong or proven\n", stderr);
		return false;
	}
	job->least = (enum confidence)level;
	job->has_least = true;
	return true;
}

static bool set_min_age(struct report_job *job, const char *value)
{
	unsigned long long ms;

	if (!opt_number("report", "min-age", value, 1, 1000ull * 60 * 60 * 24 * 365, &ms))
		return false;
	job->min_age_ns = ms * 1000000;
	return true;
}

static bool set_color(struct report_job *job, const char *value)
{
	static const char *const when[] = { "auto", "never", "always" };
	size_t i;

	for (i = 0; i < sizeof(when) / sizeof(when[0]); i++) {
		if (!strcmp(value, when[i])) {
			job->color = (enum report_color)i;
			return true;
		}
	}
	say("report", "invalid value '%s' for --color: expected auto, never or always", value);
	return false;
}

static bool set(struct report_job *job, const char *name, const char *value, bool *list)
{
	if (set_form(job, name))
		return true;
	if (!strcmp(name, "output"))
		job->output = value;
	else if (!strcmp(name, "fail-on"))
		return report_job_fail_on(job, value);
	else if (!strcmp(name, "min-confidence"))
		return set_confidence(job, value);
	else if (!strcmp(name, "color"))
		return set_color(job, value);
	else if (!strcmp(name, "source-root"))
		job->source_root = value;
	else if (!strcmp(name, "all"))
		job->all = true;
	else if (!strcmp(name, "min-age"))
		return set_min_age(job, value);
	else if (!strcmp(name, "suppressions"))
		job->suppressions = value;
	else if (!strcmp(name, "gen-suppressions"))
		job->gen_suppressions = true;
	else
		*list = true;
	return true;
}

static int run(int argc, char **argv)
{
	struct report_job job = { .command = "report", .is_default_form = true };
	struct opt_walk walk = { 0 };
	const char *value;
	bool list = false;
	int first, which;

	while ((which = opt_next(&command_report, &walk, argc, argv, &value, &first)) >= 0) {
		if (!set(&job, options[which].name, value, &list))
			return EXIT_USAGE;
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	if (list && first == argc)
		return list_detectors();
	if (argc - first != 1) {
		say("report", first == argc ? "which trace?" : "one trace at a time");
		fputs("hint: corotracer report --text trace.jsonl\n", stderr);
		return EXIT_USAGE;
	}
	if (!report_job_check_gate(&job))
		return EXIT_USAGE;
	job.trace = argv[first];
	return report_job_run(&job);
}

static const struct opt options[] = {
	{ 'o', "output", "FILE", "write it there, not to standard output" },
	{ 0, "text", NULL, "for a terminal: the default there" },
	{ 0, "markdown", NULL, "for an issue: the default elsewhere" },
	{ 0, "json", NULL, "the same as one JSON object" },
	{ 0, "sarif", NULL, "for code scanning" },
	{ 0, "source-root", "DIR", "SARIF: paths are relative to it (the git checkout)" },
	{ 0, "junit", NULL, "as a test suite, a case per detector" },
	{ 0, "all", NULL, "all groups in full, not a screenful" },
	{ 0, "color", "WHEN", "of text: auto (default), always or never" },
	{ 0, "fail-on", "LIST", "exit 1 on strong findings of: leak,... or all" },
	{ 0, "min-confidence", "WHAT", "show and fail on info, suspect, strong, proven" },
	{ 0, "min-age", "MS", "shorter suspensions are nothing unusual (1000)" },
	{ 0, "suppressions", "FILE", "known findings: DETECTOR:function:GLOB lines" },
	{ 0, "gen-suppressions", NULL, "print such lines for all findings" },
	{ 0, "list", NULL, "name the detectors" },
	{ 0, NULL, NULL, NULL },
};

const struct command command_report = {
	.name = "report",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "find what is wrong in a trace: lost wakeups, leaks, blocking and more",
	.details = "Findings are proven, strong, suspect or info; where events are missing that\n"
		   "could explain one, it is a suspicion at most.\n"
		   "Exit status: 0 done; 1 the gate (--fail-on) was hit, the trace is incomplete\n"
		   "(with --fail-on: or has no end), or it could not be done; 2 usage.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run,
};

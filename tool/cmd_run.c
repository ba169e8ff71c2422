/* SPDX-License-Identifier: MIT */
/* cmd_run.c - corotracer run: launch a program and collect from it until it ends. */
#include <stdio.h>

#include "run_collector.h"

static const struct opt opts[] = {
	SESSION_OPTS, SESSION_SERVE, SESSION_WAIT_ALL, SESSION_CHECK, { 0, NULL, NULL, NULL }
};

static int run_run(int argc, char **argv)
{
	struct session s;
	int first, status;

	session_init(&s, &command_run);
	status = session_options(&s, argc, argv, &first);
	if (status >= 0)
		return status;
	if (first >= argc) {
		say("run", "no program to run");
		fputs("hint: corotracer run -o trace.jsonl -- ./your_program\n", stderr);
		return EXIT_USAGE;
	}
	s.config.argv = argv + first;
	return session_run(&s);
}

const struct command command_run = {
	.name = "run",
	.instrument = "coroutines",
	.args = "[OPTIONS] [--] PROGRAM [ARGUMENTS]",
	.starts_program = true,
	.summary = "launch a program and trace its coroutines until it ends",
	.details =
		"The program keeps its standard input and output (with -o - its output goes to\n"
		"standard error); signals reach it once; the exit status is the program's, and a\n"
		"signal that ended it ends this, too.  Beside the trace lies FILE.meta: totals,\n"
		"names, births and deaths.  A trace that is there already is kept as FILE.old.\n",
	.opts = opts,
	.run = run_run,
};

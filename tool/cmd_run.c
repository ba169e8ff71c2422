/* SPDX-License-Identifier: MIT */
/* cmd_run.c - corotracer run: launch a program and collect from it until it ends. */
#include <stdio.h>

#include "run_collector.h"

static const struct opt opts[] = {
	SESSION_OPTS,
	{ 0, "serve", "[=PORT]", "serve a page with live data, also after the run",
	  OPT_NUMBER(struct session, serve_port, 1, 65535), OPT_GIVEN(struct session, serve) },
	{ 0, "wait-all", NULL, "also wait for the program's child processes",
	  OPT_FLAG(struct session, config.wait_all) },
	{ 0, "check", "[=LIST]", "report on the trace; exit 1 on strong findings (or LIST)",
	  OPT_TEXT(struct session, check_list), OPT_GIVEN(struct session, check) },
	{ 0, "suppressions", "FILE", "known findings that --check ignores",
	  OPT_TEXT(struct session, suppressions) },
	{ .name = NULL },
};

static int run_run(int argc, char **argv)
{
	struct session s;
	int first, status;

	session_init(&s, &command_run);
	status = opts_parse(&command_run, &s, argc, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	if (first >= argc) {
		message_print("run", "no program to run");
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
	.details = "The program keeps its standard input and output (with -o - its output goes to\n"
		   "standard error), receives each signal once, and its exit status or signal "
		   "becomes\n"
		   "that of this command.  FILE.meta next to the trace has totals, names, "
		   "creations and\n"
		   "ends of coroutines.  An existing trace is kept as FILE.old.\n",
	.opts = opts,
	.run = run_run,
};

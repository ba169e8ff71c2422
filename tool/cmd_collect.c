/* SPDX-License-Identifier: MIT */
/* cmd_collect.c - corotracer collect: serve a region that programs attach to by themselves. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "run_collector.h"

static const struct opt opts[] = { SESSION_OPTS, { .name = NULL } };

/* The `ready` callback has no context argument; there is only one session. */
static bool trace_has_stdout;

/*
 * Print one line for a shell to evaluate, or for the user to paste.  Without it none connects,
 * unless the user who closed standard output chose the paths.
 */
static int print_environment(const char *shm, const char *sock, uint32_t nr_stations,
			     struct err *err)
{
	FILE *to = trace_has_stdout ? stderr : stdout;

	fputs("export " CTP_ENV_SHM "=", to);
	text_put_word(to, shm);
	fputs(" " CTP_ENV_SOCK "=", to);
	text_put_word(to, sock);
	fprintf(to, " " CTP_ENV_STATIONS "=%u\n", nr_stations);
	if ((fflush(to) != 0 || ferror(to)) && errno != EBADF)
		return err_errno(err, "cannot print the environment for programs");
	if (isatty(STDERR_FILENO))
		message_print("collect",
			      "collecting; run that line where the program starts; Ctrl-C ends");
	return 0;
}

static int run_collect(int argc, char **argv)
{
	struct session s;
	int first, status;

	session_init(&s, &command_collect);
	s.config.ready = print_environment;
	status = opts_parse(&command_collect, &s, argc, argv, &first);
	if (status != OPTS_PARSED)
		return status;
	if (first < argc) {
		message_print("collect", "unexpected argument '%s'", argv[first]);
		fputs("hint: 'corotracer run -- PROGRAM' launches a program\n", stderr);
		return EXIT_USAGE;
	}
	trace_has_stdout = !strcmp(s.config.output, "-");
	return session_run(&s);
}

const struct command command_collect = {
	.name = "collect",
	.instrument = "coroutines",
	.args = "[OPTIONS]",
	.summary = "collect from programs that connect, until Ctrl-C",
	.details = "Prints one line for a shell: the environment that a program needs to connect.  "
		   "With\n"
		   "-o - that line goes to standard error.  Ctrl-C or SIGTERM ends the collection; "
		   "the\n"
		   "summary and FILE.meta are those of 'run'.\n",
	.opts = opts,
	.run = run_collect,
};

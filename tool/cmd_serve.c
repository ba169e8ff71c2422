/* SPDX-License-Identifier: MIT */
/*
 * cmd_serve.c - corotracer serve: serve the dashboard's page over HTTP, live while a run is in
 * progress.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "run_server.h"

enum { O_PORT, O_BIND, O_OPEN, O_QUIET, O_JSON };
static const struct opt options[] = {
	[O_PORT] = { 0, "port", "N", "listen there (any port that is free)" },
	[O_BIND] = { 0, "bind", "ADDRESS", "listen at this address, not only for this machine" },
	[O_OPEN] = { 0, "open", NULL, "show the page in the browser" },
	[O_QUIET] = { 'q', "quiet", NULL, "say only what is wrong" },
	[O_JSON] = { 0, "json", NULL, "print the URL as a JSON object" },
	{ 0, NULL, NULL, NULL },
};

static int run(int argc, char **argv)
{
	struct serving s = { .command = "serve" };
	struct opt_walk walk = { 0 };
	unsigned long long port = 0;
	const char *value, *address = NULL;
	int first, which;

	while ((which = opt_next(&command_serve, &walk, argc, argv, &value, &first)) >= 0) {
		if (which == O_PORT && !opt_number("serve", "--port", value, 1, 65535, &port))
			return EXIT_USAGE;
		if (which == O_BIND)
			address = value;
		s.open |= which == O_OPEN;
		s.quiet |= which == O_QUIET;
		s.json |= which == O_JSON;
	}
	if (which != OPT_END)
		return which == OPT_HELP ? EXIT_OK : EXIT_USAGE;
	if (argc - first != 1 || !strcmp(argv[first], "-")) {
		say("serve", first == argc ? "which trace?" : "one trace at a time, a file");
		fputs("hint: corotracer serve trace.jsonl; to start a program: corotracer run "
		      "--serve -- ./your_program\n",
		      stderr);
		return EXIT_USAGE;
	}
	s.trace = argv[first];
	if (!serving_listen(&s, address, (uint16_t)port))
		return EXIT_FAILED;
	return serving_run(&s);
}

const struct command command_serve = {
	.name = "serve",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "serve a trace as a page, live while it is being written",
	.details =
		"Prints the URL of the page; who does not have it gets nothing.  A trace of JSON "
		"lines\n"
		"that a collector is writing is followed, and its findings appear as they become\n"
		"true.  'corotracer run --serve' does the same for a program that it starts.\n",
	.opts = options,
	.run = run,
};

/* SPDX-License-Identifier: MIT */
/*
 * cmd_serve.c - corotracer serve: serve the dashboard's page over HTTP, live while a run is in
 * progress.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "run_server.h"

struct serve_options {
	struct serving serving;
	uint16_t port;
	const char *address;
};

static const struct opt options[] = {
	{ 0, "port", "N", "port to listen on (default: any free port)",
	  OPT_NUMBER(struct serve_options, port, 1, 65535) },
	{ 0, "bind", "ADDRESS", "address to listen on (default: this machine only)",
	  OPT_TEXT(struct serve_options, address) },
	{ 0, "open", NULL, "open the page in the browser",
	  OPT_FLAG(struct serve_options, serving.open) },
	{ 'q', "quiet", NULL, "print only errors", OPT_FLAG(struct serve_options, serving.quiet) },
	{ 0, "json", NULL, "print the URL as a JSON object",
	  OPT_FLAG(struct serve_options, serving.json) },
	{ .name = NULL },
};

static int run_serve(int argc, char **argv)
{
	struct serve_options o = { .serving.command = "serve" };
	int first, status = opts_parse(&command_serve, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	o.serving.trace = opts_operand(&command_serve, argc, argv, first);
	if (!o.serving.trace)
		return EXIT_USAGE;
	if (!strcmp(o.serving.trace, "-")) {
		message_print("serve", "the trace must be a file, not standard input");
		fputs("hint: to start a program: corotracer run --serve -- ./your_program\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (!serving_listen(&o.serving, o.address, o.port))
		return EXIT_FAILED;
	return serving_run(&o.serving);
}

const struct command command_serve = {
	.name = "serve",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "serve a trace as a web page, live while it is being written",
	.details = "Prints the URL of the page; requests without its key are rejected.  A trace of "
		   "JSON\n"
		   "lines that a collector is writing is followed, and findings appear as they "
		   "become\n"
		   "true.  'corotracer run --serve' does the same for a program that it starts.\n",
	.opts = options,
	.run = run_serve,
};

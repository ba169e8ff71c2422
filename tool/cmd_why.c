/* SPDX-License-Identifier: MIT */
/* cmd_why.c - `corotracer why`: what the coroutines of a running program wait for. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "inspect/inspect_print.h"
#include "inspect/inspection.h"

struct why_options {
	uint32_t pid;
	bool json, all;
	const char *exe;
};

static const struct opt options[] = {
	{ 'p', "pid", "PID", "look at this process",
	  OPT_NUMBER(struct why_options, pid, 1, 4194304) },
	{ 0, "exe", "FILE", "program of the core file, if it was moved",
	  OPT_NAME(struct why_options, exe) },
	{ 0, "all", NULL, "print all groups", OPT_FLAG(struct why_options, all) },
	{ 0, "json", NULL, "print one JSON object", OPT_FLAG(struct why_options, json) },
	{ .name = NULL },
};

static int why_print(struct inspection *in, const struct why_options *o)
{
	struct inspect_print_options print = { .groups_max = o->all ? 0 : 10 };
	struct printer p;
	int rc;

	printer_begin(&p, stdout, o->json);
	inspection_print(in, &p, &print);
	rc = printer_end(&p);
	if (rc)
		message_print("why", "cannot write to standard output: %s", strerror(-rc));
	return rc ? EXIT_FAILED : EXIT_OK;
}

static int why_look(struct process_image *image, const struct why_options *o)
{
	struct err err = { 0 };
	struct inspection *in = inspection_new(image, &err);
	int status = EXIT_FAILED;

	if (in && inspection_look(in, &err) == 0)
		status = why_print(in, o);
	else
		message_error("why", &err);
	inspection_free(in);
	return status;
}

static int run_why(int argc, char **argv)
{
	struct why_options o = { 0 };
	int first, status = opts_parse(&command_why, &o, argc, argv, &first);
	struct process_image image;
	struct err err = { 0 };

	if (status != OPTS_PARSED)
		return status;
	if (!o.pid)
		return opts_missing(&command_why, "-p PID");
	if (image_open_process(&image, (pid_t)o.pid, &err) < 0) {
		message_error("why", &err);
		return EXIT_FAILED;
	}
	status = why_look(&image, &o);
	image_close(&image);
	return status;
}

const struct command command_why = {
	.name = "why",
	.instrument = "coroutines",
	.args = "-p PID [options]",
	.summary = "say what the coroutines of a running program wait for",
	.details = "The program needs no preparation and is not stopped.\n",
	.opts = options,
	.reads_debug_info = true,
	.run = run_why,
};

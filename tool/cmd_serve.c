/* SPDX-License-Identifier: MIT */
/*
 * cmd_serve.c - corotracer serve: serve the dashboard's page over HTTP, live while a run is in
 * progress.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "run_metrics.h"
#include "run_server.h"
#include "run_shipper.h"

struct serve_options {
	struct serving serving;
	uint16_t port;
	const char *address;
	struct shipping shipping;
	struct run_metrics metrics;
};

static const struct opt options[] = {
	{ 0, "port", "N", "port to listen on (default: any free port)",
	  OPT_NUMBER(struct serve_options, port, 1, 65535) },
	{ 0, "bind", "ADDRESS", "address to listen on (default: this machine only)",
	  OPT_TEXT(struct serve_options, address) },
	{ 0, "open", NULL, "open the page in the browser",
	  OPT_FLAG(struct serve_options, serving.open) },
	{ 0, "ship", "URL", "also send the trace (.ct) to nats://HOST or file:DIR",
	  OPT_NAME(struct serve_options, shipping.options.url) },
	SHIP_LABEL_OPTS(struct serve_options, shipping.options, true),
	METRICS_OPTS(struct serve_options),
	{ 'q', "quiet", NULL, "print only errors", OPT_FLAG(struct serve_options, serving.quiet) },
	{ 0, "json", "[=FILE]", "print the URL as a JSON object",
	  OPT_FLAG(struct serve_options, serving.json) },
	{ .name = NULL },
};

/* Start to ship the trace.  Returns -1 to continue, or the exit status. */
static int serve_ship(struct serve_options *o)
{
	enum trace_format format = TRACE_FORMAT_AUTO;
	int status;

	o->shipping.command = "serve";
	status = shipping_prepare(&o->shipping, &o->serving.trace, &format, true, "serve");
	if (status >= 0 || !o->shipping.options.url)
		return status;
	if (!shipping_fork(&o->shipping))
		return EXIT_FAILED;
	shipping_go(&o->shipping, o->serving.trace);
	return -1;
}

/* The same for metrics. */
static int serve_metrics(struct serve_options *o)
{
	int status;

	o->metrics.command = "serve";
	o->metrics.trace = o->serving.trace;
	run_metrics_set_labels(&o->metrics, &o->shipping.options);
	status = run_metrics_prepare(&o->metrics, false, false);
	if (status >= 0)
		return status;
	if (!run_metrics_fork(&o->metrics))
		return EXIT_FAILED;
	run_metrics_go(&o->metrics);
	return -1;
}

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
	status = serve_metrics(&o);
	if (status < 0)
		status = serve_ship(&o);
	if (status < 0)
		status = serving_run(&o.serving);
	run_metrics_end(&o.metrics);
	if (o.shipping.child > 0) { /* it was started */
		shipping_stop(&o.shipping);
		shipping_text(&o.shipping, o.serving.quiet);
	}
	return status;
}

const struct command command_serve = {
	.name = "serve",
	.instrument = "coroutines",
	.args = "[OPTIONS] TRACE",
	.summary = "serve a trace as a web page, live while it is being written",
	.details = "Prints the URL of the page; requests without its key are rejected.  A trace of "
		   "JSON\n"
		   "lines or .ct that a collector is writing is followed, and findings appear as "
		   "they\n"
		   "become true.  'corotracer run --serve' does the same for a program that it "
		   "starts.\n",
	.opts = options,
	.run = run_serve,
};

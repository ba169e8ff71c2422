/* SPDX-License-Identifier: MIT */
/* cmd_ship.c - corotracer ship: send the blocks of traces to a receiver. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/number.h"
#include "base/printer.h"
#include "cmd.h"
#include "json_file.h"
#include "ship_options.h"
#include "ship_watch.h"

#define SHIP_IDLE_DEFAULT_NS UINT64_C(30000000000)

struct ship_command {
	struct ship_options ship;
	bool json, quiet, remove, again;
};

static const struct opt options[] = {
	{ 0, "wait", "SECONDS", "how long to wait for a receiver that is away (default 30)",
	  OPT_REAL(struct ship_command, ship.wait_ns, 0, 1e9, 1e9),
	  OPT_GIVEN(struct ship_command, ship.has_wait) },
	SHIP_SAMPLE_OPT(struct ship_command, ship, false),
	SHIP_LABEL_OPTS(struct ship_command, ship, false),
	{ 0, "again", NULL, "send all of it once more, as another run",
	  OPT_FLAG(struct ship_command, again) },
	{ 0, "remove", NULL, "remove each trace when all of it has arrived",
	  OPT_FLAG(struct ship_command, remove) },
	{ 0, "json", "[=FILE]", "print one JSON object per trace",
	  OPT_FLAG(struct ship_command, json) },
	{ 'q', "quiet", NULL, "print only errors", OPT_FLAG(struct ship_command, quiet) },
	{ .name = NULL },
};

static int ship_signals = -1;

static bool ship_pause(int ms)
{
	struct pollfd fd = { .fd = ship_signals, .events = POLLIN };

	return poll(&fd, 1, ms) > 0;
}

static void ship_report(const struct ship_transport *t, const struct err *trouble)
{
	if (trouble)
		message_error("ship", trouble);
	else
		message_print("ship", "%s accepts blocks again", t->name);
}

static void ship_catch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	ship_signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void ship_print_count(struct printer *p, const char *key, const struct ship_count *c)
{
	print_object(p, key);
	print_count(p, "blocks", NULL, c->blocks);
	print_count(p, "transitions", NULL, c->transitions);
	print_count(p, "others", NULL, c->others);
	print_count(p, "bytes", NULL, c->bytes);
	print_object_end(p);
}

static void ship_print(const struct ship_command *o, const char *trace,
		       const struct ship_transport *t, const struct shipper_result *r)
{
	struct printer p;

	printer_begin(&p, json_file_stream(stdout), o->json);
	print_string(&p, "trace", trace);
	print_string(&p, "receiver", t->name);
	print_string(&p, "run", r->run);
	print_flag(&p, "finished", NULL, r->is_finished);
	print_text(&p, "%s: %s of %s blocks have arrived (%s events), %s given up, %s spooled%s\n",
		   trace, number_text(r->shipped.blocks),
		   number_text(r->shipped.blocks + r->spooled.blocks + r->given_up.blocks),
		   number_text(r->shipped.transitions + r->shipped.others),
		   number_text(r->given_up.blocks), number_text(r->spooled.blocks),
		   r->was_finished ? "; all of it had been shipped before" : "");
	ship_print_count(&p, "shipped", &r->shipped);
	ship_print_count(&p, "spooled", &r->spooled);
	ship_print_count(&p, "given_up", &r->given_up);
	ship_print_count(&p, "left_out", &r->left_out);
	ship_print_count(&p, "whole", &r->whole);
	print_count(&p, "whole_coroutines", NULL, r->whole_coroutines);
	print_count(&p, "sample", NULL, r->sample);
	printer_end(&p);
}

static void ship_remove(const char *trace)
{
	char *state = ship_state_path(trace);

	unlink(trace);
	if (state)
		unlink(state);
	free(state);
}

/* The exit status. */
static int ship_trace(const struct ship_command *o, const char *trace, struct ship_transport *t,
		      const struct ship_labels *labels)
{
	struct shipper_config config = {
		.trace = trace,
		.transport = t,
		.labels = *labels,
		.is_new = o->again,
		.wait_ns = o->ship.has_wait ? o->ship.wait_ns : SHIP_IDLE_DEFAULT_NS,
		.waits_while_blocks_arrive = true,
		.watch = ship_watch_look,
		.pause = ship_pause,
		.report = ship_report,
	};
	struct shipper_result r;
	struct err err = { 0 };
	int rc;

	ship_watch_begin(trace);
	rc = shipper_run(&config, &r, &err);
	ship_watch_end();
	if (rc < 0) {
		message_error("ship", &err);
		return EXIT_FAILED;
	}
	if (o->json || !o->quiet)
		ship_print(o, trace, t, &r);
	if (!r.is_finished) {
		message_print("ship", "%s block%s of '%s' %s still to be sent",
			      number_text(r.spooled.blocks), number_plural(r.spooled.blocks), trace,
			      r.spooled.blocks == 1 ? "is" : "are");
		ship_options_hint(t->name, trace);
		return EXIT_FAILED;
	}
	if (o->remove)
		ship_remove(trace);
	return EXIT_OK;
}

static int run_ship(int argc, char **argv)
{
	struct ship_command o = { 0 };
	struct ship_labels labels;
	struct ship_transport *t;
	int first, i, status = opts_parse(&command_ship, &o, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first >= argc)
		return opts_missing(&command_ship, "URL");
	if (first + 1 >= argc)
		return opts_missing(&command_ship, "FILE.ct");
	if (!ship_options_labels("ship", &o.ship, &labels))
		return EXIT_USAGE;
	o.ship.url = argv[first];
	t = ship_options_receiver("ship", &o.ship, &status);
	if (!t)
		return status;
	ship_catch_signals();
	status = EXIT_OK;
	for (i = first + 1; i < argc && !ship_pause(0); i++) {
		int one = ship_trace(&o, argv[i], t, &labels);

		status = one ? one : status;
	}
	ship_transport_close(t);
	return i < argc ? EXIT_FAILED : status;
}

const struct command command_ship = {
	.name = "ship",
	.instrument = "many machines",
	.args = "[OPTIONS] URL FILE.ct...",
	.summary = "send traces to a store that many machines share",
	.details = "URL is nats://[USER:PASSWORD@]HOST[:PORT] or file:DIRECTORY.  A trace that is "
		   "being\n"
		   "written is followed.  FILE.ct.shipped says how far it has been sent; shipping "
		   "goes on\n"
		   "from there, also after 'corotracer run --ship'.\n",
	.opts = options,
	.run = run_ship,
};

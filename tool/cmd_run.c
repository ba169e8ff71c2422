/* SPDX-License-Identifier: MIT */
/* cmd_run.c - corotracer run: collect from a program, launched or running, until it ends. */
#include <stdio.h>
#include <string.h>

#include "attach_options.h"
#include "frames/live/counters.h"
#include "run_collector.h"
#include "run_frames.h"

/* The labels, and the spool that is written without -o. */
#define RUN_SHIP_OPTS                                                                     \
	{ 0,                                                                              \
	  "spool",                                                                        \
	  "DIR",                                                                          \
	  "with --ship, without -o: directory of the spool",                              \
	  OPT_NAME(struct session, shipping.options.spool),                               \
	  .is_rare = true },                                                              \
		{ 0,                                                                      \
		  "spool-size",                                                           \
		  "SIZE",                                                                 \
		  "with --ship, without -o: limit (default 1G)",                          \
		  OPT_SIZE(struct session, shipping.options.spool_size, SHIP_SPOOL_LEAST, \
			   SHIP_SPOOL_HIGHEST),                                           \
		  .is_rare = true },                                                      \
		{ 0,                                                                      \
		  "ship-wait",                                                            \
		  "SECONDS",                                                              \
		  "with --ship: time to send the rest (default 10)",                      \
		  OPT_REAL(struct session, shipping.options.wait_ns, 0, 1e6, 1e9),        \
		  OPT_GIVEN(struct session, shipping.options.has_wait),                   \
		  .is_rare = true },                                                      \
		SHIP_SAMPLE_OPT(struct session, shipping.options, true),                  \
		SHIP_LABEL_OPTS(struct session, shipping.options, true)

static const struct opt opts[] = {
	{ 'p', "pid", "PID", "trace this running process; Ctrl-C detaches",
	  OPT_NUMBER(struct session, config.pid, 1, 1u << 30) },
	{ 0, "duration", "SECONDS", "with -p: detach after that time",
	  OPT_REAL(struct session, config.duration_ns, 0.001, 1e9, 1e9) },
	{ 0, "no-snapshot", NULL, "with -p: do not look where earlier coroutines wait",
	  OPT_FLAG(struct session, no_snapshot), .is_rare = true },
	{ 0, "awaits", NULL, "look into the program where Rust futures wait (debug = 2)",
	  OPT_FLAG(struct session, awaits), .is_rare = true },
	SESSION_OPTS,
	{ 0, "serve", "[=PORT]", "serve a page with live data, also after the run",
	  OPT_NUMBER(struct session, serve_port, 1, 65535), OPT_GIVEN(struct session, serve) },
	{ 0, "ship", "URL", "send the trace to nats://HOST or file:DIR while it is written",
	  OPT_NAME(struct session, shipping.options.url) },
	RUN_SHIP_OPTS,
	METRICS_OPTS(struct session),
	{ 0, "cpu", NULL, "record when threads have a processor, and when they wait",
	  OPT_FLAG(struct session, config.cpu) },
	{ 0, "frames", "[=BUFFER,...]", "record frames, from the program's start (default: all)",
	  OPT_TEXT(struct session, config.frames.buffers),
	  OPT_GIVEN(struct session, config.frames.is_wanted) },
	{ 0, "counter", "LIST", "with --frames: up to three counters, as for attach",
	  OPT_CALL(struct session, config.frames.counters, attach_add_counters), .is_rare = true },
	{ 0, "mem", "[=FILE]", "also trace memory accesses (default TRACE.memory)",
	  OPT_TEXT(struct session, memory.output), OPT_GIVEN(struct session, memory.wanted) },
	{ 0, "no-inherit", NULL, "leave no descriptors open in the program, only paths",
	  OPT_FLAG(struct session, config.no_inherit), .is_rare = true },
	{ 0, "wait-all", NULL, "also wait for the program's child processes",
	  OPT_FLAG(struct session, config.wait_all), .is_rare = true },
	{ 0, "check", "[=LIST]", "report on the trace; exit 1 on strong findings (or LIST)",
	  OPT_TEXT(struct session, check_list), OPT_GIVEN(struct session, check),
	  .takes_detectors = true },
	{ 0, "suppressions", "FILE", "known findings that --check ignores",
	  OPT_TEXT(struct session, suppressions), .is_rare = true },
	{ .name = NULL },
};

/* A running program has no room for records of accesses, and stdout has no name. */
static bool run_can_trace_memory(const struct session *s)
{
	if (s->config.pid) {
		message_print("run", "--mem cannot be used with -p: the program must be started");
		fputs("hint: corotracer run --mem -o trace.jsonl -- ./your_program\n", stderr);
		return false;
	}
	if (!s->memory.output && !strcmp(s->config.output, "-")) {
		message_print("run",
			      "--mem needs a file's name if the trace is on standard output");
		fputs("hint: corotracer run --mem=FILE -o - -- ./your_program\n", stderr);
		return false;
	}
	return true;
}

/* With the options in @s, and the program in @argv from @first on. */
static int run_with_options(struct session *s, int first, int argc, char **argv)
{
	if (s->config.pid && first < argc)
		return opts_unexpected(&command_run, argv[first]);
	if (s->config.duration_ns && !s->config.pid) {
		message_print("run", "--duration needs -p PID");
		return EXIT_USAGE;
	}
	if (!run_frames_check(&s->config))
		return EXIT_USAGE;
	if (s->memory.wanted && !run_can_trace_memory(s))
		return EXIT_USAGE;
	if (s->config.pid)
		return session_run(s);
	if (first >= argc) {
		message_print("run", "no program to run");
		fputs("hint: corotracer run -o trace.jsonl -- ./your_program, or -p PID\n", stderr);
		return EXIT_USAGE;
	}
	s->config.argv = argv + first;
	return session_run(s);
}

static int run_run(int argc, char **argv)
{
	struct session s;
	int first, status;

	session_init(&s, &command_run);
	status = opts_parse(&command_run, &s, argc, argv, &first);
	if (status == OPTS_PARSED)
		status = run_with_options(&s, first, argc, argv);
	counters_release(&s.config.frames.counters);
	return status;
}

const struct command command_run = {
	.name = "run",
	.instrument = "coroutines",
	.args = "[OPTIONS] [-p PID | [--] PROGRAM [ARGUMENTS]]",
	.starts_program = true,
	.summary = "trace the coroutines of a program, launched or running",
	.details = "The exit status is the program's.  A trace that exists is kept as FILE.old.\n",
	.opts = opts,
	.run = run_run,
};

/* SPDX-License-Identifier: MIT */
/*
 * run_collector.h - shared by `run`, `collect` and the existing coroTracer's flags: from options to
 * a collector, from its result to a summary and an exit status.
 */
#ifndef TOOL_RUN_COLLECTOR_H
#define TOOL_RUN_COLLECTOR_H

#include <stdbool.h>

#include "cmd.h"
#include "collect/collector.h"
#include "collect/flight_recorder.h"
#include "run_memory.h"
#include "run_metrics.h"
#include "run_server.h"
#include "run_shipper.h"

#define DEFAULT_STATIONS 128 /* as in the existing coroTracer */
#define DEFAULT_OUTPUT   "trace_output.jsonl"

struct session {
	const struct command *cmd; /* for messages; NULL: the existing coroTracer's flags */
	struct collector_config config;
	bool has_output; /* the user named the trace */
	bool json;
	bool quiet;
	bool fail_on_loss;
	bool awaits;            /* look where futures wait that do not say it */
	bool no_snapshot;       /* with config.pid: do not look at earlier coroutines */
	bool check;             /* analyze the trace afterwards, and fail on faults */
	const char *check_list; /* detectors that fail it; NULL: every fault */
	const char *suppressions;
	bool serve; /* serve a page during and after the run */
	uint16_t serve_port;
	struct serving serving;
	struct run_memory memory;   /* --mem */
	struct shipping shipping;   /* --ship */
	struct run_metrics metrics; /* --metrics */
};

/* Rows of an option table for a struct session. */
#define SESSION_OPTS                                                                             \
	{ 'n',                                                                                   \
	  "stations",                                                                            \
	  "N",                                                                                   \
	  "expected number of coroutines (default 128)",                                         \
	  OPT_NUMBER(struct session, config.nr_stations, 1, CTP_MAX_STATIONS),                   \
	  .is_rare = true },                                                                     \
		{ 'o',                                                                           \
		  "output",                                                                      \
		  "FILE",                                                                        \
		  "trace (default trace_output.jsonl); - is stdout",                             \
		  OPT_NAME(struct session, config.output),                                       \
		  OPT_GIVEN(struct session, has_output) },                                       \
		{ 0,                                                                             \
		  "format",                                                                      \
		  "WHAT",                                                                        \
		  "jsonl, ctf or ct (default: by .ctf, / or .ct at the end)",                    \
		  OPT_CHOICE(struct session, config.format, "jsonl, ctf or ct",                  \
			     TRACE_FORMAT_JSONL),                                                \
		  .is_rare = true },                                                             \
		{ 0, "buffer", "SIZE", "memory for unread events (default 1G if available)",     \
		  OPT_SIZE(struct session, config.lanes.buffer, BUFFER_LEAST, BUFFER_HIGHEST) }, \
		{ 0,                                                                             \
		  "on-full",                                                                     \
		  "WHAT",                                                                        \
		  "if the buffer is full: drop (default), block, block=MS",                      \
		  OPT_CALL(struct session, config.lanes, session_parse_on_full),                 \
		  .is_rare = true },                                                             \
		{ 0, "flight-recorder", "SIZE",                                                  \
		  "keep the newest events; write on exit or on request",                         \
		  OPT_SIZE(struct session, config.flight_size, FLIGHT_LEAST, FLIGHT_HIGHEST) },  \
		{ 0, "fail-on-loss", NULL, "exit 1 if events were lost",                         \
		  OPT_FLAG(struct session, fail_on_loss) },                                      \
		{ 0, "json", "[=FILE]", "print the summary as one JSON object",                  \
		  OPT_FLAG(struct session, json) },                                              \
		{ 'q', "quiet", NULL, "print a summary only if something was lost",              \
		  OPT_FLAG(struct session, quiet) },                                             \
		{ 0,                                                                             \
		  "shm",                                                                         \
		  "PATH",                                                                        \
		  "path of the region (default: a private directory)",                           \
		  OPT_NAME(struct session, config.shm),                                          \
		  .is_rare = true },                                                             \
	{                                                                                        \
		0, "sock", "PATH", "path of the socket (default: beside the region)",            \
			OPT_NAME(struct session, config.sock), .is_rare = true                   \
	}

/* Parser of --on-full: sets a struct lanes_config. */
bool session_parse_on_full(void *lanes, const struct opt_use *use);

void session_init(struct session *s, const struct command *cmd);

/* Run, print the summary on stderr, return the exit status (or end by the program's signal). */
int session_run(struct session *s);

#endif

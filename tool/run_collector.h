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
#include "run_server.h"

#define DEFAULT_STATIONS 128 /* as in the existing coroTracer */
#define DEFAULT_OUTPUT   "trace_output.jsonl"

struct session {
	const struct command *cmd; /* for messages; NULL: the existing coroTracer's flags */
	struct collector_config config;
	bool json;
	bool quiet;
	bool fail_on_loss;
	bool check;             /* analyze the trace afterwards, and fail on faults */
	const char *check_list; /* detectors that fail it; NULL: every fault */
	const char *suppressions;
	bool serve; /* serve a page during and after the run */
	uint16_t serve_port;
	struct serving serving;
};

/* Rows of an option table that session_options() handles. */
#define SESSION_OPTS                                                                              \
	{ 'n', "stations", "N", "N coroutines are expected (128); there may be more" },           \
		{ 'o', "output", "FILE", "the trace (trace_output.jsonl); - is stdout, shared" }, \
		{ 0, "format", "WHAT", "jsonl or ctf (ctf if FILE ends in .ctf or /)" },          \
		{ 0, "buffer", "SIZE", "memory for events not read yet (1G, or what there is)" }, \
		{ 0, "on-full", "WHAT", "when it is full: drop (default), block or block=MS" },   \
		{ 0, "flight-recorder", "SIZE",                                                   \
		  "keep the newest; write at the end or on demand" },                             \
		{ 0, "fail-on-loss", NULL, "exit 1 when anything was lost" },                     \
		{ 0, "json", NULL, "the summary as one JSON object" },                            \
		{ 'q', "quiet", NULL, "no summary unless something was lost" },                   \
		{ 0, "shm", "PATH", "make the region here, not in a private place" },             \
	{                                                                                         \
		0, "sock", "PATH", "make the socket here, not in a private place"                 \
	}

#define SESSION_CHECK                                                                        \
	{ 0, "check", "[=LIST]", "report on the trace; exit 1 on strong faults (or LIST)" }, \
	{                                                                                    \
		0, "suppressions", "FILE", "for --check: findings that are meant"            \
	}

#define SESSION_SERVE                                                                \
	{                                                                            \
		0, "serve", "[=PORT]", "show it on a page meanwhile, and afterwards" \
	}

#define SESSION_WAIT_ALL                                                    \
	{                                                                   \
		0, "wait-all", NULL, "wait for the program's children, too" \
	}

void session_init(struct session *s, const struct command *cmd);

/* Parse @cmd's options into @s.  Returns -1 to continue, or the exit status. */
int session_options(struct session *s, int argc, char **argv, int *first);

/* Set one option by its long name; false after an error message about @value. */
bool session_set(struct session *s, const char *name, const char *value);

/* Run, print the summary on stderr, return the exit status (or end by the program's signal). */
int session_run(struct session *s);

#endif

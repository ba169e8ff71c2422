/* SPDX-License-Identifier: MIT */
/*
 * cmd_export.c - corotracer export KIND: convert a finished trace or recording for another program.
 *
 * Traces go to the sinks of src/export, recordings of frames to the writers of src/frames
 * (export_frames.c).
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export_job.h"

/* ---- the command line ---------------------------------------------------- */

enum {
	O_IN,
	O_FILE,
	O_OUTPUT,
	O_FULL,
	O_EXACT,
	O_QUIET,
	O_JSON,
	O_CLI,
	O_HOST,
	O_PORT,
	O_USER,
	O_PASSWORD,
	O_DATABASE,
	O_TABLE,
	O_SOCKET,
	O_MAINTENANCE,
	O_SSLMODE,
};

static const struct opt options[] = {
	[O_IN] = { 'i', "in", "TRACE", "JSON lines, a CTF directory, a recording; - is stdin" },
	[O_FILE] = { 'f', "file", "FILE", NULL }, /* older alias of -i */
	[O_OUTPUT] = { 'o', "output", "FILE", "what is made of it; - is standard output" },
	[O_FULL] = { 0, "full", NULL, "also tables of names, sites, wakes, births and ends" },
	[O_EXACT] = { 0, "no-formula-guard", NULL, "no ' before text that begins with = + - @" },
	[O_QUIET] = { 'q', "quiet", NULL, "no progress, no summary unless something is missing" },
	[O_JSON] = { 0, "json", NULL, "the summary as one JSON object, on stderr" },
	[O_CLI] = { 0, "db-cli", "CMD", "load through this client, e.g. 'docker exec -i db psql'" },
	[O_HOST] = { 0, "db-host", "HOST", "of the server, or the directory of its socket" },
	[O_PORT] = { 0, "db-port", "N", "0 is the usual one: 3306, 5432" },
	[O_USER] = { 0, "db-user", "NAME", "who logs in" },
	[O_PASSWORD] = { 0, "db-password", "TEXT", "better: PGPASSWORD, MYSQL_PWD, ~/.pgpass" },
	[O_DATABASE] = { 0, "db-name", "NAME", "made if missing (default coro_tracer)" },
	[O_TABLE] = { 0, "db-table", "NAME", "appended to (default coro_trace_events)" },
	[O_SOCKET] = { 0, "mysql-socket", "PATH", "instead of host and port" },
	[O_MAINTENANCE] = { 0, "pg-maintenance-db", "DB", "where databases are made (postgres)" },
	[O_SSLMODE] = { 0, "pg-sslmode", "MODE", "as libpq has it: disable, require, ..." },
	{ 0, NULL, NULL, NULL },
};

/* The field of an option that is a plain text. */
static const char **text_of(struct export_options *o, int which)
{
	switch (which) {
	case O_IN:
	case O_FILE:
		return &o->trace;
	case O_OUTPUT:
		return &o->output;
	case O_CLI:
		return &o->cli;
	case O_HOST:
		return &o->host;
	case O_USER:
		return &o->user;
	case O_PASSWORD:
		return &o->password;
	case O_DATABASE:
		return &o->database;
	case O_TABLE:
		return &o->table;
	case O_SOCKET:
		return &o->mysql_socket;
	case O_MAINTENANCE:
		return &o->pg_maintenance_db;
	default:
		return &o->pg_sslmode;
	}
}

static bool set_port(struct export_job *job, const char *value)
{
	unsigned long long port;

	if (!opt_number("export", "--db-port", value, 0, 65535, &port))
		return false;
	job->options.port = (unsigned)port;
	return true;
}

static bool take(struct export_job *job, int which, const char *value)
{
	switch (which) {
	case O_FULL:
		job->options.full = true;
		return true;
	case O_EXACT:
		job->options.exact_text = true;
		return true;
	case O_QUIET:
		job->options.quiet = true;
		return true;
	case O_JSON:
		job->json = true;
		return true;
	case O_PORT:
		return set_port(job, value);
	default:
		*text_of(&job->options, which) = value;
		return true;
	}
}

/* Options may precede or follow the kind. */
static int parse(struct export_job *job, int *argc, char ***argv)
{
	struct opt_walk walk = { 0 };
	const char *value;
	int which, first = *argc;

	while ((which = opt_next(&command_export, &walk, *argc, *argv, &value, &first)) >= 0) {
		if (!take(job, which, value))
			return OPT_BAD;
	}
	*argv += first;
	*argc -= first;
	return which;
}

static int run(int argc, char **argv)
{
	struct export_job job = { 0 };
	int which = parse(&job, &argc, &argv);

	while (which == OPT_END && argc > 0) {
		if (!job.kind) {
			job.kind = argv[0];
		} else if (!job.options.trace) {
			job.options.trace = argv[0];
		} else {
			say("export", "'%s' is one word too many", argv[0]);
			return EXIT_USAGE;
		}
		which = parse(&job, &argc, &argv);
	}
	if (which == OPT_HELP)
		return EXIT_OK;
	if (which == OPT_BAD)
		return EXIT_USAGE;
	return export_job_run(&job);
}

const struct command command_export = {
	.name = "export",
	.instrument = "coroutines",
	.args = "KIND -i TRACE [-o FILE]",
	.summary = "write a trace into a database, or in the format of another program",
	.details =
		"KIND: csv, sqlite, mysql, postgresql; perfetto, chrome, ctf, jsonl; schema "
		"prints\n"
		"the tables' SQL.  Recordings of frames: csv, sqlite, jsonl, perfetto, chrome.\n"
		"Exit status: 0 done; 1 failed, or something is missing (it is said); 2 usage.\n",
	.opts = options,
	.run = run,
};

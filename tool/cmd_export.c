/* SPDX-License-Identifier: MIT */
/*
 * cmd_export.c - corotracer export KIND: convert a finished trace or recording for another program.
 *
 * Both go to the sinks of src/export; export_frames.c has the summary of a recording.
 */
#include <string.h>

#include "export_job.h"
#include "filter_opts.h"
#include "load_source.h"
#include "mem_calls.h"

static const struct opt options[] = {
	{ 'i', "in", "TRACE", "JSON lines, CTF, .ct or recording; - is stdin",
	  OPT_TEXT(struct export_job, options.trace) },
	/* older alias of -i */
	{ 'f', "file", "FILE", NULL, OPT_TEXT(struct export_job, options.trace) },
	{ 'o', "output", "FILE", "output file; - is standard output",
	  OPT_TEXT(struct export_job, options.output) },
	{ 0, "full", NULL, "also export names, sites, wakes, creations and ends",
	  OPT_FLAG(struct export_job, options.full) },
	FILTER_TIME_OPTS_SHORT(struct export_job, options.filter,
			       "only from TIME on; --to, --coro, --site, --kind"),
	FILTER_EVENT_OPTS_SHORT(struct export_job, options.filter),
	FILTER_PART_OPT_SHORT(struct export_job, options.filter.part),
	{ 0, "no-formula-guard", NULL, "do not put ' before text that begins with = + - @",
	  OPT_FLAG(struct export_job, options.exact_text), .is_rare = true },
	{ 0, "slower-than", "SECONDS", "otlp: only waits of at least that time (default 0.001)",
	  OPT_REAL(struct export_job, otlp.least_ns, 0, 1e6, 1e9),
	  OPT_GIVEN(struct export_job, otlp.has_least), .is_rare = true },
	{ 0, "per-site", "N", "otlp: the slowest waits of each site (default 10)",
	  OPT_NUMBER(struct export_job, otlp.per_site, 1, OTLP_PER_SITE_MOST), .is_rare = true },
	SHIP_LABEL_OPTS(struct export_job, otlp.labels, true),
	{ 'q', "quiet", NULL, "no progress; a summary only if something is missing",
	  OPT_FLAG(struct export_job, options.quiet) },
	{ 0, "json", "[=FILE]", "print the summary as one JSON object on stderr",
	  OPT_FLAG(struct export_job, json) },
	{ 0, "db-cli", "CMD", "database client to use, e.g. 'docker exec -i db psql'",
	  OPT_TEXT(struct export_job, options.cli) },
	{ 0, "db-host", "HOST", "host of the server, or directory of its socket",
	  OPT_TEXT(struct export_job, options.host) },
	{ 0, "db-port", "N", "port of the server (default 3306 or 5432)",
	  OPT_NUMBER(struct export_job, options.port, 0, 65535) },
	{ 0, "db-user", "NAME", "user of the database", OPT_TEXT(struct export_job, options.user) },
	{ 0, "db-password", "TEXT", "password; safer: PGPASSWORD, MYSQL_PWD, ~/.pgpass",
	  OPT_TEXT(struct export_job, options.password) },
	{ 0, "db-name", "NAME", "database, created if missing (default coro_tracer)",
	  OPT_TEXT(struct export_job, options.database) },
	{ 0, "db-table", "NAME", "table to append to (default coro_trace_events)",
	  OPT_TEXT(struct export_job, options.table) },
	{ 0, "mysql-socket", "PATH", "socket to use instead of host and port",
	  OPT_TEXT(struct export_job, options.mysql_socket) },
	{ 0, "pg-maintenance-db", "DB", "database to connect to for CREATE DATABASE (postgres)",
	  OPT_TEXT(struct export_job, options.pg_maintenance_db), .is_rare = true },
	{ 0, "pg-sslmode", "MODE", "sslmode of libpq: disable, require, ...",
	  OPT_TEXT(struct export_job, options.pg_sslmode), .is_rare = true },
	{ .name = NULL },
};

static int run_export(int argc, char **argv)
{
	struct export_job job = { 0 };
	int first, status;

	if (argc > 1 && !strcmp(argv[1], "clickhouse"))
		return load_export(argc, argv);
	if (argc > 1 && export_is_of_calls(argc - 1, argv + 1))
		return export_calls(argc - 1, argv + 1);
	status = opts_parse(&command_export, &job, argc, argv, &first);

	if (status != OPTS_PARSED)
		return status;
	if (first < argc)
		job.kind = argv[first++];
	if (first < argc && !job.options.trace)
		job.options.trace = argv[first++];
	return first < argc ? opts_unexpected(&command_export, argv[first]) : export_job_run(&job);
}

const struct command command_export = {
	.name = "export",
	.instrument = "coroutines",
	.args = "KIND -i TRACE [-o FILE]",
	.summary = "export a trace or recording to a database or another format",
	.details = "KIND: csv sqlite mysql postgresql perfetto chrome speedscope folded pprof "
		   "graphviz\n"
		   "jsonl ctf ct parquet otlp schema clickhouse; of a memory trace callgrind "
		   "folded.\n"
		   "Exit status: 0 done; 1 failed or incomplete; 2 usage.\n",
	.opts = options,
	.run = run_export,
};

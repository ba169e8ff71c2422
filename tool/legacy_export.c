/* SPDX-License-Identifier: MIT */
/*
 * legacy_export.c - the export flags of the existing coroTracer, translated.
 *
 *	corotracer -export sqlite -in trace.jsonl -sqlite-out trace.sqlite
 *
 * Without -in, the value of -out is the trace, as in the existing coroTracer.
 */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "export_job.h"
#include "legacy.h"
#include "run_collector.h"

enum { NOWHERE, PORT, OUT, CMD, TEXT };

static const struct {
	const char *flag;
	int what;
	size_t offset;    /* TEXT: offset in struct export_options */
	const char *kind; /* export kind that uses the flag; NULL: all */
} flags[] = {
	{ "in", TEXT, offsetof(struct export_options, trace), NULL },
	{ "sqlite-out", TEXT, offsetof(struct export_options, output), "sqlite" },
	{ "csv-out", TEXT, offsetof(struct export_options, output), "csv" },
	{ "db-cli", TEXT, offsetof(struct export_options, cli), NULL },
	{ "db-host", TEXT, offsetof(struct export_options, host), NULL },
	{ "db-port", PORT, 0, NULL },
	{ "db-user", TEXT, offsetof(struct export_options, user), NULL },
	{ "db-password", TEXT, offsetof(struct export_options, password), NULL },
	{ "db-name", TEXT, offsetof(struct export_options, database), NULL },
	{ "db-table", TEXT, offsetof(struct export_options, table), NULL },
	{ "mysql-socket", TEXT, offsetof(struct export_options, mysql_socket), NULL },
	{ "pg-maintenance-db", TEXT, offsetof(struct export_options, pg_maintenance_db), NULL },
	{ "pg-sslmode", TEXT, offsetof(struct export_options, pg_sslmode), NULL },
	{ "out", OUT, 0, NULL },
	{ "cmd", CMD, 0, NULL },
	/* Flags for tracing: they have defaults there, and are ignored here. */
	{ "n", NOWHERE, 0, NULL },
	{ "shm", NOWHERE, 0, NULL },
	{ "sock", NOWHERE, 0, NULL },
};

#define NR_FLAGS (sizeof(flags) / sizeof(flags[0]))

static int find(const char *word, const char **attached)
{
	size_t i;

	for (i = 0; i < NR_FLAGS; i++) {
		if (legacy_is_flag(word, flags[i].flag, attached))
			return (int)i;
	}
	return -1;
}

bool legacy_is_export(const char *word)
{
	const char *attached;

	return legacy_is_flag(word, "export", &attached);
}

/* "csv" and "dataframe" name the same sink. */
static bool counts_for(const char *flag_kind, const char *kind)
{
	const struct sink *sink = sink_find(kind);

	return !flag_kind || (sink && sink == sink_find(flag_kind));
}

static int with_cmd(void)
{
	say(NULL, "-cmd and -export do not go together: a trace is exported when it is finished");
	fputs("hint: first -cmd \"./app\" -out trace.jsonl, then -export KIND -in trace.jsonl\n",
	      stderr);
	return EXIT_USAGE;
}

/* Returns -1 to continue, or the exit status. */
static int take(struct export_job *job, int flag, const char *value, const char **out)
{
	unsigned long long port;

	switch (flags[flag].what) {
	case OUT:
		*out = value;
		break;
	case CMD:
		return with_cmd();
	case PORT:
		if (!opt_number(NULL, "-db-port", value, 0, 65535, &port))
			return EXIT_USAGE;
		job->options.port = (unsigned)port;
		break;
	case TEXT:
		if (counts_for(flags[flag].kind, job->kind))
			*(const char **)(void *)((char *)&job->options +
						 flags[flag].offset) = value;
		break;
	default:
		break;
	}
	return -1;
}

/* The kind decides the meaning of some flags, so it is parsed first. */
static bool find_kind(struct export_job *job, int argc, char **argv)
{
	const char *value;
	int i;

	for (i = 1; i < argc; i++) {
		if (!legacy_is_flag(argv[i], "export", &value))
			continue;
		job->kind = value ? value : i + 1 < argc ? argv[i + 1] : NULL;
	}
	return job->kind;
}

static int parse(struct export_job *job, int argc, char **argv, const char **out)
{
	int i = 1, status = -1;

	while (status < 0 && i < argc) {
		const char *value, *word = argv[i++];
		bool is_kind = legacy_is_flag(word, "export", &value);
		int flag = is_kind ? 0 : find(word, &value);

		if (flag < 0)
			return legacy_unknown(word);
		if (!value && i >= argc) {
			say(NULL, "no value after '%s'", word);
			return EXIT_USAGE;
		}
		if (!value)
			value = argv[i++];
		if (!is_kind)
			status = take(job, flag, value, out);
	}
	return status;
}

int legacy_export(int argc, char **argv)
{
	struct export_job job = { .command = "" };
	const char *out = DEFAULT_OUTPUT;
	int status;

	if (!find_kind(&job, argc, argv)) {
		say(NULL, "no value after '-export'");
		return EXIT_USAGE;
	}
	status = parse(&job, argc, argv, &out);
	if (status >= 0)
		return status;
	if (!job.options.trace || !*job.options.trace)
		job.options.trace = out;
	return export_job_run(&job);
}

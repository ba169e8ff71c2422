/* SPDX-License-Identifier: MIT */
/*
 * legacy_export.c - the export flags of the existing coroTracer, translated.
 *
 *	corotracer -export sqlite -in trace.jsonl -sqlite-out trace.sqlite
 *
 * Without -in, the value of -out is the trace, as in the existing coroTracer.
 */
#include <stdio.h>
#include <string.h>

#include "export_job.h"
#include "legacy.h"
#include "run_collector.h"

static const struct {
	const char *flag;
	const char *option; /* of `export`; NULL: a flag for tracing, ignored here */
	const char *kind;   /* export kind that uses the flag; NULL: all */
} flags[] = {
	{ "in", "in", NULL },
	{ "sqlite-out", "output", "sqlite" },
	{ "csv-out", "output", "csv" },
	{ "db-cli", "db-cli", NULL },
	{ "db-host", "db-host", NULL },
	{ "db-port", "db-port", NULL },
	{ "db-user", "db-user", NULL },
	{ "db-password", "db-password", NULL },
	{ "db-name", "db-name", NULL },
	{ "db-table", "db-table", NULL },
	{ "mysql-socket", "mysql-socket", NULL },
	{ "pg-maintenance-db", "pg-maintenance-db", NULL },
	{ "pg-sslmode", "pg-sslmode", NULL },
	{ "out", NULL, NULL },
	{ "cmd", NULL, NULL },
	{ "n", NULL, NULL },
	{ "shm", NULL, NULL },
	{ "sock", NULL, NULL },
};

#define NR_FLAGS (sizeof(flags) / sizeof(flags[0]))

static int legacy_find_export_flag(const char *word, const char **attached)
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
	message_print(
		NULL,
		"-cmd and -export do not go together: a trace is exported when it is finished");
	fputs("hint: first -cmd \"./app\" -out trace.jsonl, then -export KIND -in trace.jsonl\n",
	      stderr);
	return EXIT_USAGE;
}

/* Returns OPTS_PARSED to continue, or the exit status. */
static int legacy_take_export_flag(struct export_job *job, int flag, const char *word,
				   const char *value, const char **out)
{
	struct opt_use use = { .option = word, .value = value };

	if (!strcmp(flags[flag].flag, "cmd"))
		return with_cmd();
	if (!strcmp(flags[flag].flag, "out"))
		*out = value;
	if (!flags[flag].option || !counts_for(flags[flag].kind, job->kind))
		return OPTS_PARSED;
	return opts_set(command_export.opts, flags[flag].option, &use, job) ? OPTS_PARSED
									    : EXIT_USAGE;
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

static int legacy_parse_export(struct export_job *job, int argc, char **argv, const char **out)
{
	int i = 1, status = -1;

	while (status < 0 && i < argc) {
		const char *value, *word = argv[i++];
		bool is_kind = legacy_is_flag(word, "export", &value);
		int flag = is_kind ? 0 : legacy_find_export_flag(word, &value);

		if (flag < 0)
			return legacy_unknown(word);
		if (!value && i >= argc) {
			message_print(NULL, "no value after '%s'", word);
			return EXIT_USAGE;
		}
		if (!value)
			value = argv[i++];
		if (!is_kind)
			status = legacy_take_export_flag(job, flag, word, value, out);
	}
	return status;
}

int legacy_export(int argc, char **argv)
{
	struct export_job job = { .command = "" };
	const char *out = DEFAULT_OUTPUT;
	int status;

	if (!find_kind(&job, argc, argv)) {
		message_print(NULL, "no value after '-export'");
		return EXIT_USAGE;
	}
	status = legacy_parse_export(&job, argc, argv, &out);
	if (status >= 0)
		return status;
	if (!job.options.trace || !*job.options.trace)
		job.options.trace = out;
	return export_job_run(&job);
}

/* SPDX-License-Identifier: MIT */
/* export_schema.c - print the SQL of the tables that an export creates, for each database. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "export/tables.h"
#include "export_job.h"
#include "json_file.h"

static const struct {
	const char *name, *alias;
	enum dialect dialect;
} dialects[] = {
	{ "sqlite", "sqlite3", DIALECT_SQLITE },
	{ "mysql", "mariadb", DIALECT_MYSQL },
	{ "postgresql", "postgres", DIALECT_POSTGRESQL },
};

#define NR_DIALECTS (sizeof(dialects) / sizeof(dialects[0]))

static bool schema_is_wanted(size_t i, const char *name)
{
	return !name || !strcmp(dialects[i].name, name) || !strcmp(dialects[i].alias, name);
}

static bool schema_is_known(const char *name)
{
	size_t i;

	for (i = 0; i < NR_DIALECTS; i++) {
		if (schema_is_wanted(i, name))
			return true;
	}
	return false;
}

/* One document, with one text per database. */
static int schema_json(const struct export_job *job, const char *name, const char *table)
{
	struct json_writer w;
	struct sql sql;
	size_t i;
	int rc = 0, end;

	jw_init_file(&w, json_file_stream(stdout));
	jw_object_begin(&w);
	for (i = 0; i < NR_DIALECTS; i++) {
		char *text;

		if (!schema_is_wanted(i, name))
			continue;
		if (sql_begin(&sql))
			rc |= tables_put_schema(sql.out, dialects[i].dialect, table,
						job->options.full);
		text = sql_end(&sql);
		rc = rc || !text ? -ENOMEM : 0;
		jw_field_string(&w, dialects[i].name, text ? text : "");
		free(text);
	}
	jw_object_end(&w);
	jw_newline(&w);
	end = jw_release(&w);
	return rc ? rc : end;
}

static int schema_text(const struct export_job *job, const char *name, const char *table)
{
	size_t i;

	for (i = 0; i < NR_DIALECTS; i++) {
		if (!schema_is_wanted(i, name))
			continue;
		if (!name)
			printf("%s-- %s\n", i ? "\n" : "", dialects[i].name);
		if (tables_put_schema(stdout, dialects[i].dialect, table, job->options.full) < 0)
			return -ENOMEM;
	}
	errno = 0;
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : errno ? -errno : -EIO;
}

int export_schema(const struct export_job *job)
{
	const char *name = job->options.trace;
	const char *table = job->options.table ? job->options.table : TABLES_EVENTS;
	int rc;

	if (!schema_is_known(name)) {
		message_print(job->command, "unknown database '%s'", name);
		fputs("hint: corotracer export schema [sqlite | mysql | postgresql]\n", stderr);
		return EXIT_USAGE;
	}
	rc = job->json ? schema_json(job, name, table) : schema_text(job, name, table);
	if (!rc)
		return EXIT_OK;
	message_print(job->command, "cannot write to standard output: %s", strerror(-rc));
	return EXIT_FAILED;
}

/* SPDX-License-Identifier: MIT */
/* fleet_schema.c - create the tables of the store, bring older ones up to date, refuse others. */
#include "fleet/fleet_schema.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fleet/fleet_rows.h"
#include "fleet/sql_files.h"

struct schema_step {
	const unsigned char *current, *old;
	const size_t *current_size, *old_size;
};

#define SCHEMA_STEP(name)                                                                       \
	{                                                                                       \
		sql_##name##_current_sql, sql_##name##_old_sql, &sql_##name##_current_sql_size, \
			&sql_##name##_old_sql_size                                              \
	}

static const struct schema_step schema_steps[] = { SCHEMA_STEP(schema_1), SCHEMA_STEP(schema_2) };

#define NR_SCHEMA_STEPS (sizeof(schema_steps) / sizeof(schema_steps[0]))

/* Old servers know this type, and want to be asked for it. */
#define SCHEMA_OLD_SETTINGS "allow_experimental_low_cardinality_type=1"

#define SCHEMA_CREATE       "CREATE TABLE IF NOT EXISTS "

/* ---- statements ---------------------------------------------------------------- */

static int schema_run(struct clickhouse *c, size_t shard, const char *sql, struct err *err)
{
	struct clickhouse_call call = { .sql = sql,
					.settings = c->is_old ? SCHEMA_OLD_SETTINGS : NULL };

	return clickhouse_send(c, shard, &call, NULL, err);
}

/* The file without comments, terminated.  No text in it has "--" or ";" in quotes. */
static int schema_strip(const unsigned char *file, size_t size, struct bytes *out)
{
	size_t i;

	for (i = 0; i < size; i++) {
		if (file[i] == '-' && i + 1 < size && file[i + 1] == '-')
			while (i < size && file[i] != '\n')
				i++;
		if (i < size)
			bytes_add(out, &file[i], 1);
	}
	bytes_add(out, "", 1);
	return out->error;
}

typedef int (*schema_statement_fn)(struct clickhouse *c, size_t shard, const char *sql,
				   struct err *err);

/* Calls @fn for each statement of a step. */
static int schema_each(struct clickhouse *c, size_t shard, const struct schema_step *step,
		       schema_statement_fn fn, struct err *err)
{
	struct bytes text = { 0 };
	char *at, *end;
	int rc = c->is_old ? schema_strip(step->old, *step->old_size, &text)
			   : schema_strip(step->current, *step->current_size, &text);

	if (rc < 0) {
		bytes_release(&text);
		return err_set(err, rc, "no memory for the schema");
	}
	for (at = (char *)text.data; rc == 0 && *at; at = end + 1) {
		end = strchr(at, ';');
		if (!end)
			break;
		*end = '\0';
		rc = fn(c, shard, at + strspn(at, " \t\n"), err);
	}
	bytes_release(&text);
	return rc;
}

/* Beside a table, one of the same name with _all that asks every shard. */
static int schema_distribute(struct clickhouse *c, size_t shard, const char *sql, struct err *err)
{
	char statement[1024], name[64];

	if (strncmp(sql, SCHEMA_CREATE, strlen(SCHEMA_CREATE)) != 0)
		return 0;
	sql += strlen(SCHEMA_CREATE);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(sql, " ("), sql);
	if (!strcmp(name, "schema_version"))
		return 0;
	snprintf(statement, sizeof(statement),
		 SCHEMA_CREATE "%s_all AS %s ENGINE = Distributed(%s, %s, %s)", name, name,
		 c->url.cluster, c->url.database, name);
	return schema_run(c, shard, statement, err);
}

/* ---- version ------------------------------------------------------------------- */

/* The steps that @shard has.  Tables of another program are found by their columns. */
static int schema_version_of(struct clickhouse *c, size_t shard, uint64_t *version, struct err *err)
{
	uint64_t nr = 0;
	int rc;

	*version = 0;
	rc = clickhouse_number(c, shard,
			       "SELECT count() FROM system.tables WHERE database = "
			       "currentDatabase() AND name = 'schema_version'",
			       &nr, err);
	if (rc == 0 && nr)
		rc = clickhouse_number(c, shard,
				       "SELECT toUInt64(max(version)) FROM schema_version", version,
				       err);
	return rc;
}

static int schema_newer(const struct clickhouse *c, uint64_t version, struct err *err)
{
	err_set(err, -EPROTO,
		"cannot use the database '%s': its schema has version %" PRIu64
		", this corotracer knows %zu",
		c->url.database, version, NR_SCHEMA_STEPS);
	err_hint(err, "use a newer corotracer, or another database");
	return err->code;
}

static int schema_note(struct clickhouse *c, size_t shard, size_t version, struct err *err)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "INSERT INTO schema_version SELECT toUInt32(%zu), now()",
		 version);
	return schema_run(c, shard, sql, err);
}

/* ---- columns ------------------------------------------------------------------- */

static int schema_wrong_column(const struct clickhouse *c, const struct native_table *t,
			       const struct native_column *column, const char *type, size_t size,
			       struct err *err)
{
	if (type)
		err_set(err, -EPROTO, "cannot use table %s.%s: column %s has type %.*s, not %.40s",
			c->url.database, t->name, column->name, (int)(size < 80 ? size : 80), type,
			column->type);
	else
		err_set(err, -EPROTO, "cannot use table %s.%s: it has no column %s",
			c->url.database, t->name, column->name);
	err_hint(err, "another program made this table; name another database in the address");
	return err->code;
}

/* @lines: "name<TAB>type<NEWLINE>" for each column of the table. */
static int schema_check_column(const struct clickhouse *c, const struct native_table *t,
			       const struct native_column *column, const char *lines,
			       struct err *err)
{
	size_t name_size = strlen(column->name), size;

	while (*lines) {
		const char *end = strchr(lines, '\n');

		size = end ? (size_t)(end - lines) : strlen(lines);
		if (size > name_size && !memcmp(lines, column->name, name_size) &&
		    lines[name_size] == '\t') {
			lines += name_size + 1;
			size -= name_size + 1;
			if (size == strlen(column->type) && !memcmp(lines, column->type, size))
				return 0;
			return schema_wrong_column(c, t, column, lines, size, err);
		}
		lines += size + (end != NULL);
	}
	return schema_wrong_column(c, t, column, NULL, 0, err);
}

static int schema_check_table(struct clickhouse *c, size_t shard, const struct native_table *t,
			      struct err *err)
{
	struct bytes answer = { 0 };
	char sql[256];
	unsigned i;
	int rc;

	snprintf(sql, sizeof(sql),
		 "SELECT name, type FROM system.columns WHERE database = currentDatabase() AND "
		 "table = '%s' FORMAT TSVRaw",
		 t->name);
	rc = clickhouse_ask(c, shard, sql, &answer, err);
	bytes_add(&answer, "", 1);
	if (rc == 0 && answer.error)
		rc = err_set(err, -ENOMEM, "no memory for the schema");
	for (i = 0; rc == 0 && i < t->nr_columns; i++)
		rc = schema_check_column(c, t, &t->columns[i], (const char *)answer.data, err);
	bytes_release(&answer);
	return rc;
}

static int schema_check_tables(struct clickhouse *c, size_t shard, struct err *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < NR_FLEET_TABLES && rc == 0; i++)
		rc = schema_check_table(c, shard, &fleet_tables[i], err);
	return rc;
}

/* ---- one shard ------------------------------------------------------------------- */

static int schema_create_database(struct clickhouse *c, size_t shard, struct err *err)
{
	char sql[CLICKHOUSE_NAME_SIZE + 64];

	snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS %s", c->url.database);
	return schema_run(c, shard, sql, err);
}

static int schema_prepare_shard(struct clickhouse *c, size_t shard, struct err *err)
{
	uint64_t version = 0;
	size_t i;
	int rc = schema_create_database(c, shard, err);

	rc = rc < 0 ? rc : schema_version_of(c, shard, &version, err);
	if (rc == 0 && version > NR_SCHEMA_STEPS)
		return schema_newer(c, version, err);
	for (i = version; rc == 0 && i < NR_SCHEMA_STEPS; i++) {
		rc = schema_each(c, shard, &schema_steps[i], schema_run, err);
		if (rc == 0)
			rc = schema_check_tables(c, shard, err);
		if (rc == 0)
			rc = schema_note(c, shard, i + 1, err);
	}
	for (i = 0; rc == 0 && c->url.cluster[0] && i < NR_SCHEMA_STEPS; i++)
		rc = schema_each(c, shard, &schema_steps[i], schema_distribute, err);
	return rc < 0 || version < NR_SCHEMA_STEPS ? rc : schema_check_tables(c, shard, err);
}

/* ---- how long rows are kept ------------------------------------------------------- */

struct schema_lifetime {
	const char *table;
	size_t offset; /* of its member in struct fleet_keep */
	unsigned days; /* per partition */
};

static const struct schema_lifetime schema_lifetimes[] = {
	{ "waits", offsetof(struct fleet_keep, waits), 1 },
	{ "events", offsetof(struct fleet_keep, events), 1 },
	{ "waits_10s", offsetof(struct fleet_keep, sums), 10 },
	{ "blocks", offsetof(struct fleet_keep, sums), 10 },
	{ "findings", offsetof(struct fleet_keep, findings), 10 },
};

#define NR_SCHEMA_LIFETIMES (sizeof(schema_lifetimes) / sizeof(schema_lifetimes[0]))

static unsigned schema_days(const struct fleet_keep *keep, const struct schema_lifetime *l)
{
	unsigned days;

	memcpy(&days, (const char *)keep + l->offset, sizeof(days));
	return days;
}

bool fleet_keep_parse(struct fleet_keep *keep, const char *text)
{
	static const struct {
		const char *name;
		size_t offset;
	} members[] = {
		{ "waits=", offsetof(struct fleet_keep, waits) },
		{ "events=", offsetof(struct fleet_keep, events) },
		{ "sums=", offsetof(struct fleet_keep, sums) },
		{ "findings=", offsetof(struct fleet_keep, findings) },
	};
	size_t i;

	for (;;) {
		unsigned long days = 0;
		unsigned value;
		char *end = NULL;

		for (i = 0; i < 4; i++)
			if (!strncmp(text, members[i].name, strlen(members[i].name)))
				break;
		if (i == 4)
			return false;
		text += strlen(members[i].name);
		if (*text >= '0' && *text <= '9')
			days = strtoul(text, &end, 10);
		if (!end || days < 1 || days > 36500 || (*end && *end != ','))
			return false;
		value = (unsigned)days;
		memcpy((char *)keep + members[i].offset, &value, sizeof(value));
		if (!*end)
			return true;
		text = end + 1;
	}
}

/* 1: the table has this time; a change would make the server rewrite its rows.  0; -errno. */
static int schema_has_lifetime(struct clickhouse *c, size_t shard, const struct schema_lifetime *l,
			       unsigned days, struct err *err)
{
	uint64_t nr = 0;
	char sql[256];
	int rc;

	snprintf(sql, sizeof(sql),
		 "SELECT count() FROM system.tables WHERE database = currentDatabase() AND name = "
		 "'%s' AND position(create_table_query, 'toIntervalDay(%u)') > 0",
		 l->table, days);
	rc = clickhouse_number(c, shard, sql, &nr, err);
	return rc < 0 ? rc : nr > 0;
}

static int schema_set_lifetime(struct clickhouse *c, size_t shard, const struct fleet_keep *keep,
			       struct err *err)
{
	char sql[256];
	size_t i;
	int rc = 0;

	for (i = 0; i < NR_SCHEMA_LIFETIMES && rc == 0; i++) {
		rc = schema_has_lifetime(c, shard, &schema_lifetimes[i],
					 schema_days(keep, &schema_lifetimes[i]), err);
		if (rc != 0) {
			rc = rc < 0 ? rc : 0;
			continue;
		}
		snprintf(sql, sizeof(sql),
			 "ALTER TABLE %s MODIFY TTL toDateTime(intDiv(ts, 1000000000)) + INTERVAL "
			 "%u DAY",
			 schema_lifetimes[i].table, schema_days(keep, &schema_lifetimes[i]));
		rc = schema_run(c, shard, sql, err);
	}
	return rc;
}

/* Drops the partitions of one table that end before @days ago. */
static int schema_drop_old(struct clickhouse *c, size_t shard, const struct schema_lifetime *l,
			   unsigned days, struct err *err)
{
	int64_t limit = ((int64_t)time(NULL) / 86400 - days) / l->days;
	struct bytes answer = { 0 };
	char sql[256], *at, *end;
	int rc;

	snprintf(sql, sizeof(sql),
		 "SELECT DISTINCT partition FROM system.parts WHERE database = currentDatabase() "
		 "AND table = '%s' AND active AND toInt64OrZero(partition) < %" PRId64,
		 l->table, limit);
	rc = clickhouse_ask(c, shard, sql, &answer, err);
	bytes_add(&answer, "", 1);
	for (at = (char *)answer.data; rc == 0 && !answer.error && *at; at = end + 1) {
		end = strchr(at, '\n');
		if (!end)
			break;
		*end = '\0';
		snprintf(sql, sizeof(sql), "ALTER TABLE %s DROP PARTITION %.20s", l->table, at);
		rc = schema_run(c, shard, sql, err);
	}
	bytes_release(&answer);
	return rc;
}

int fleet_schema_expire(struct clickhouse *c, const struct fleet_keep *keep, struct err *err)
{
	size_t shard, i;
	int rc = 0;

	for (shard = 0; c->is_old && rc == 0 && shard < clickhouse_shards(c); shard++)
		for (i = 0; rc == 0 && i < NR_SCHEMA_LIFETIMES; i++)
			rc = schema_drop_old(c, shard, &schema_lifetimes[i],
					     schema_days(keep, &schema_lifetimes[i]), err);
	return rc;
}

/* ---- all shards -------------------------------------------------------------------- */

int fleet_schema_prepare(struct clickhouse *c, const struct fleet_keep *keep, struct err *err)
{
	size_t shard;
	int rc = clickhouse_hello(c, err);

	for (shard = 0; rc == 0 && shard < clickhouse_shards(c); shard++) {
		rc = schema_prepare_shard(c, shard, err);
		if (rc == 0 && keep && !c->is_old)
			rc = schema_set_lifetime(c, shard, keep, err);
	}
	return rc;
}

int fleet_schema_check(struct clickhouse *c, struct err *err)
{
	uint64_t version = 0;
	size_t shard;
	int rc = clickhouse_hello(c, err);

	for (shard = 0; rc == 0 && shard < clickhouse_shards(c); shard++) {
		rc = schema_version_of(c, shard, &version, err);
		if (rc == 0 && version > NR_SCHEMA_STEPS)
			rc = schema_newer(c, version, err);
		if (rc == 0 && version < NR_SCHEMA_STEPS) {
			rc = err_set(err, -ENOENT,
				     "cannot use the database '%s': it has no tables of this "
				     "corotracer",
				     c->url.database);
			err_hint(err, "load a trace into it: corotracer load --into URL TRACE");
		}
	}
	return rc;
}

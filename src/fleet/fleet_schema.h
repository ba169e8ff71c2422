/* SPDX-License-Identifier: MIT */
/*
 * fleet_schema.h - create the tables of the store, bring older ones up to date, refuse others.
 *
 * Step N of the schema is src/fleet/sql/schema-N.DIALECT.sql.  The table schema_version of each
 * shard says which steps it has.  Statements of a step can be repeated: a step that was interrupted
 * is run again.
 */
#ifndef FLEET_FLEET_SCHEMA_H
#define FLEET_FLEET_SCHEMA_H

#include "fleet/clickhouse_client.h"

/* Days that rows are kept. */
struct fleet_keep {
	unsigned waits, events, sums, findings;
};

#define FLEET_KEEP_DEFAULT                                          \
	{                                                           \
		.waits = 7, .events = 2, .sums = 90, .findings = 90 \
	}

/* "waits=7,events=2,sums=90,findings=90", in any order.  False: not of this form. */
bool fleet_keep_parse(struct fleet_keep *keep, const char *text);

/*
 * Connects to every shard and makes its tables those of this version.  @keep: NULL leaves the
 * times as they are.
 */
int fleet_schema_prepare(struct clickhouse *c, const struct fleet_keep *keep, struct err *err);

/* The same without a change: an error if the schema is missing, older or newer. */
int fleet_schema_check(struct clickhouse *c, struct err *err);

/* Drop what is older than @keep says, on engines that do not do so themselves. */
int fleet_schema_expire(struct clickhouse *c, const struct fleet_keep *keep, struct err *err);

/* True if questions can use NAME_all: the address has a cluster. */
static inline bool fleet_schema_is_distributed(const struct clickhouse *c)
{
	return c->url.cluster[0];
}

#endif

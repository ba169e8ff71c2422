/* SPDX-License-Identifier: MIT */
/* postgresql_missing.c - replaces postgresql.c in a build without libpq. */
#include "export/client.h"
#include "export/sink.h"

const struct sink sink_postgresql = {
	.name = "postgresql",
	.alias = "postgres",
	.about = "tables of a PostgreSQL server",
	.client = &client_postgresql,
	.library = "libpq",
	.package = "libpq-dev",
};

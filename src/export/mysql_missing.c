/* SPDX-License-Identifier: MIT */
/* mysql_missing.c - replaces mysql.c in a build without libmariadb. */
#include "export/client.h"
#include "export/sink.h"

const struct sink sink_mysql = {
	.name = "mysql",
	.about = "tables of a MySQL or MariaDB server",
	.client = &client_mysql,
	.library = "libmariadb",
	.package = "libmariadb-dev",
};

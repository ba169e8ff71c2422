/* SPDX-License-Identifier: MIT */
/* clickhouse_client_without.c - replaces clickhouse_client.c in a build without libcurl. */
#include <errno.h>

#include "fleet/clickhouse_client.h"

struct clickhouse *clickhouse_open(const char *url, struct err *err)
{
	(void)url;
	err_set(err, -ENOSYS, "cannot use ClickHouse: this corotracer was built without libcurl");
	err_hint(err, "install libcurl4-openssl-dev and build again");
	return NULL;
}

void clickhouse_close(struct clickhouse *c)
{
	(void)c;
}

size_t clickhouse_shard_of(const struct clickhouse *c, const char *host)
{
	(void)c;
	(void)host;
	return 0;
}

int clickhouse_send(struct clickhouse *c, size_t shard, const struct clickhouse_call *call,
		    struct bytes *answer, struct err *err)
{
	(void)c;
	(void)shard;
	(void)call;
	(void)answer;
	return err_set(err, -ENOSYS, "this corotracer was built without libcurl");
}

int clickhouse_ask(struct clickhouse *c, size_t shard, const char *sql, struct bytes *answer,
		   struct err *err)
{
	(void)sql;
	return clickhouse_send(c, shard, NULL, answer, err);
}

int clickhouse_number(struct clickhouse *c, size_t shard, const char *sql, uint64_t *number,
		      struct err *err)
{
	(void)sql;
	*number = 0;
	return clickhouse_send(c, shard, NULL, NULL, err);
}

int clickhouse_hello(struct clickhouse *c, struct err *err)
{
	return clickhouse_send(c, 0, NULL, NULL, err);
}

void clickhouse_quote(struct bytes *sql, const char *text)
{
	(void)sql;
	(void)text;
}

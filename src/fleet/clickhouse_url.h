/* SPDX-License-Identifier: MIT */
/*
 * clickhouse_url.h - parse the address of a store of many shards:
 *
 *	clickhouse://[user[:password]@]host[:port][,host2[:port2]...][/database][?name=value[&...]]
 *
 * The default of the database is corotracer.  Ports are those of HTTP (default 8123; 8443 with
 *tls=1).  Names: cluster, of Distributed tables; password_file; tls.  Without a password in the
 *address, it is taken from password_file, else from the environment variable CLICKHOUSE_PASSWORD.
 *User, password and values may have %XX escapes.
 */
#ifndef FLEET_CLICKHOUSE_URL_H
#define FLEET_CLICKHOUSE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CLICKHOUSE_SHARDS_MAX 256u
#define CLICKHOUSE_NAME_SIZE  256u /* of a host, a user, a database, with its end */
#define CLICKHOUSE_SCHEME     "clickhouse://"

struct clickhouse_host {
	char name[CLICKHOUSE_NAME_SIZE]; /* "[::1]" with its brackets */
	uint16_t port;
};

struct clickhouse_url {
	struct clickhouse_host *hosts;
	size_t nr_hosts;
	char user[CLICKHOUSE_NAME_SIZE];
	char password[CLICKHOUSE_NAME_SIZE];
	char database[CLICKHOUSE_NAME_SIZE]; /* letters, digits and _ */
	char cluster[CLICKHOUSE_NAME_SIZE];  /* the same; empty: none */
	bool has_tls;
};

/* True if @text is to be parsed by clickhouse_url_parse(). */
bool clickhouse_url_is(const char *text);

/*
 * Errors never repeat @text, which may have a password.  @password: the value of the environment
 * variable, or NULL.  Release also after a failure.
 */
int clickhouse_url_parse(struct clickhouse_url *url, const char *text, const char *password,
			 struct err *err);
void clickhouse_url_release(struct clickhouse_url *url);

#endif

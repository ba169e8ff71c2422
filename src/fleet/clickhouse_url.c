/* SPDX-License-Identifier: MIT */
/* clickhouse_url.c - parse the address of a store of many shards. */
#include "fleet/clickhouse_url.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define CLICKHOUSE_PORT     8123
#define CLICKHOUSE_TLS_PORT 8443

/* A part of the address. */
struct url_part {
	const char *at;
	size_t size;
};

bool clickhouse_url_is(const char *text)
{
	return !strncmp(text, CLICKHOUSE_SCHEME, strlen(CLICKHOUSE_SCHEME));
}

static int url_invalid(struct err *err, const char *what)
{
	err_set(err, -EINVAL, "cannot use the address of ClickHouse: %s", what);
	err_hint(err, "write clickhouse://[USER@]HOST[:PORT][,HOST2...]/DATABASE, and set "
		      "CLICKHOUSE_PASSWORD");
	return -EINVAL;
}

static int url_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copies @from without escapes.  False: too long, a wrong escape, or an escaped zero. */
static bool url_unescape(struct url_part from, char to[CLICKHOUSE_NAME_SIZE])
{
	size_t i, used = 0;

	for (i = 0; i < from.size; i++) {
		int c = (unsigned char)from.at[i];

		if (c == '%') {
			int high = i + 2 < from.size ? url_hex(from.at[i + 1]) : -1;
			int low = i + 2 < from.size ? url_hex(from.at[i + 2]) : -1;

			if (high < 0 || low < 0)
				return false;
			c = high * 16 + low;
			i += 2;
		}
		if (!c || used + 1 >= CLICKHOUSE_NAME_SIZE)
			return false;
		to[used++] = (char)c;
	}
	to[used] = '\0';
	return true;
}

/* Names go into SQL and into subjects: letters, digits and _ need no quotes. */
static bool url_is_name(const char *text)
{
	const char *at;

	for (at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '_')
			return false;
	return at > text && !isdigit((unsigned char)*text);
}

/* The part of *@rest before the first of @stops, which is removed with it. */
static struct url_part url_take(struct url_part *rest, const char *stops)
{
	struct url_part part = { rest->at, 0 };

	while (part.size < rest->size && !strchr(stops, rest->at[part.size]))
		part.size++;
	rest->at += part.size;
	rest->size -= part.size;
	if (rest->size) {
		rest->at++;
		rest->size--;
	}
	return part;
}

static bool url_parse_port(struct url_part text, uint16_t *port)
{
	unsigned value = 0;
	size_t i;

	for (i = 0; i < text.size; i++) {
		if (!isdigit((unsigned char)text.at[i]) || value > UINT16_MAX)
			return false;
		value = value * 10 + (unsigned)(text.at[i] - '0');
	}
	*port = (uint16_t)value;
	return i && value && value <= UINT16_MAX;
}

static bool url_is_host(struct url_part text, bool is_ipv6)
{
	size_t i;

	for (i = 0; i < text.size; i++) {
		unsigned char c = (unsigned char)text.at[i];

		if (is_ipv6 ? !isxdigit(c) && !strchr("[]:.%", c)
			    : !isalnum(c) && !strchr(".-_", c))
			return false;
	}
	return text.size && text.size < CLICKHOUSE_NAME_SIZE;
}

static int url_parse_host(struct clickhouse_host *host, struct url_part text, struct err *err)
{
	struct url_part name = text;
	bool is_ipv6 = text.size && text.at[0] == '[';
	size_t end = 0;

	while (end < text.size && text.at[end] != (is_ipv6 ? ']' : ':'))
		end++;
	if (is_ipv6 && end == text.size)
		return url_invalid(err, "']' is missing in the name of a host");
	name.size = end + is_ipv6;
	if (!url_is_host(name, is_ipv6))
		return url_invalid(err, "a name of a host is empty or has other characters than "
					"letters, digits, '.', '-' and '_'");
	memcpy(host->name, name.at, name.size);
	host->name[name.size] = '\0';
	text.at += name.size;
	text.size -= name.size;
	if (!text.size)
		return 0;
	text.size--;
	if (*text.at++ != ':' || !url_parse_port(text, &host->port))
		return url_invalid(err, "a port is not a number from 1 to 65535");
	return 0;
}

static int url_parse_hosts(struct clickhouse_url *url, struct url_part rest, struct err *err)
{
	size_t nr = 1, i;
	int rc = 0;

	for (i = 0; i < rest.size; i++)
		nr += rest.at[i] == ',';
	if (nr > CLICKHOUSE_SHARDS_MAX)
		return url_invalid(err, "it has more than 256 hosts");
	url->hosts = calloc(nr, sizeof(*url->hosts));
	if (!url->hosts)
		return err_set(err, -ENOMEM, "no memory for an address");
	url->nr_hosts = nr;
	for (i = 0; i < nr && rc == 0; i++)
		rc = url_parse_host(&url->hosts[i], url_take(&rest, ","), err);
	return rc;
}

static int url_parse_user(struct clickhouse_url *url, struct url_part text, struct err *err)
{
	struct url_part user = url_take(&text, ":");

	if (!url_unescape(user, url->user) || !url_unescape(text, url->password))
		return url_invalid(err, "the user or the password is too long or has a wrong %XX");
	return 0;
}

/* The first line of the file. */
static int url_read_password(struct clickhouse_url *url, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return err_errno(err, "cannot open the password file '%s'", path);
	size = io_read(fd, url->password, sizeof(url->password) - 1);
	close(fd);
	if (size < 0)
		return err_set(err, (int)size, "cannot read the password file '%s'", path);
	url->password[size] = '\0';
	url->password[strcspn(url->password, "\r\n")] = '\0';
	return 0;
}

static bool url_part_is(struct url_part part, const char *text)
{
	return part.size == strlen(text) && !memcmp(part.at, text, part.size);
}

static int url_parse_option(struct clickhouse_url *url, struct url_part text, struct err *err)
{
	struct url_part name = url_take(&text, "=");
	char value[CLICKHOUSE_NAME_SIZE];

	if (!url_unescape(text, value))
		return url_invalid(err, "a value behind '?' is too long or has a wrong %XX");
	if (url_part_is(name, "cluster") && url_is_name(value)) {
		memcpy(url->cluster, value, sizeof(value));
		return 0;
	}
	if (url_part_is(name, "cluster"))
		return url_invalid(err, "the name of a cluster has other characters than letters, "
					"digits and '_'");
	if (url_part_is(name, "password_file"))
		return url_read_password(url, value, err);
	if (url_part_is(name, "tls") && (!strcmp(value, "0") || !strcmp(value, "1"))) {
		url->has_tls = value[0] == '1';
		return 0;
	}
	return url_invalid(err, "behind '?' only cluster=NAME, password_file=PATH and tls=1 are "
				"known");
}

static int url_parse_options(struct clickhouse_url *url, struct url_part rest, struct err *err)
{
	int rc = 0;

	while (rc == 0 && rest.size)
		rc = url_parse_option(url, url_take(&rest, "&"), err);
	return rc;
}

static void url_set_defaults(struct clickhouse_url *url, const char *password)
{
	size_t i;

	if (!url->user[0])
		memcpy(url->user, "default", sizeof("default"));
	if (!url->password[0] && password && strlen(password) < sizeof(url->password))
		memcpy(url->password, password, strlen(password) + 1);
	for (i = 0; i < url->nr_hosts; i++)
		if (!url->hosts[i].port)
			url->hosts[i].port = url->has_tls ? CLICKHOUSE_TLS_PORT : CLICKHOUSE_PORT;
}

int clickhouse_url_parse(struct clickhouse_url *url, const char *text, const char *password,
			 struct err *err)
{
	struct url_part rest, hosts, database;
	const char *at;
	int rc = 0;

	*url = (struct clickhouse_url){ .hosts = NULL };
	if (!clickhouse_url_is(text))
		return url_invalid(err, "it does not begin with " CLICKHOUSE_SCHEME);
	rest.at = text + strlen(CLICKHOUSE_SCHEME);
	rest.size = strlen(rest.at);
	hosts = url_take(&rest, "/");
	database = url_take(&rest, "?");
	at = memrchr(hosts.at, '@', hosts.size);
	if (at) {
		struct url_part user = { hosts.at, (size_t)(at - hosts.at) };

		rc = url_parse_user(url, user, err);
		hosts.size -= user.size + 1;
		hosts.at = at + 1;
	}
	rc = rc < 0 ? rc : url_parse_hosts(url, hosts, err);
	if (!database.size)
		database = (struct url_part){ "corotracer", strlen("corotracer") };
	if (rc == 0 && (!url_unescape(database, url->database) || !url_is_name(url->database)))
		rc = url_invalid(err, "the name of the database has other characters than "
				      "letters, digits and '_'");
	rc = rc < 0 ? rc : url_parse_options(url, rest, err);
	url_set_defaults(url, password);
	return rc;
}

void clickhouse_url_release(struct clickhouse_url *url)
{
	free(url->hosts);
	explicit_bzero(url->password, sizeof(url->password));
	url->hosts = NULL;
	url->nr_hosts = 0;
}

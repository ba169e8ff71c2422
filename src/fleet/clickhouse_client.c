/* SPDX-License-Identifier: MIT */
/* clickhouse_client.c - statements and inserts for the shards of a ClickHouse store, over HTTP. */
#include "fleet/clickhouse_client.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/libcurl_loader.h"
#include "trace/site_hash.h"

#define CLICKHOUSE_CONNECT_MS 10000u
#define CLICKHOUSE_ANSWER_MS  120000u
#define CLICKHOUSE_ANSWER_MAX ((size_t)256 << 20)
#define CLICKHOUSE_ERROR_MAX  ((size_t)64 << 10)

/* The first version with deduplication tokens and all that the newer dialect has. */
#define CLICKHOUSE_CURRENT 22008u

/* What the callbacks of a transfer need. */
struct clickhouse_transfer {
	const struct clickhouse_call *call;
	size_t piece, at; /* the next byte to send */
	struct bytes answer;
	bool is_too_large;
	char error[CURL_ERROR_SIZE];
};

static const char *clickhouse_host_text(const struct clickhouse *c, size_t shard, char text[320])
{
	const struct clickhouse_host *host = &c->url.hosts[shard];

	snprintf(text, 320, "%s:%u", host->name, (unsigned)host->port);
	return text;
}

/* ---- open and close --------------------------------------------------------- */

/* A limit for networks that stall, and for tests. */
static unsigned clickhouse_answer_limit(void)
{
	const char *text = getenv("COROTRACER_CLICKHOUSE_MS");
	unsigned long ms = text ? strtoul(text, NULL, 10) : 0;

	return ms && ms <= 86400000 ? (unsigned)ms : CLICKHOUSE_ANSWER_MS;
}

struct clickhouse *clickhouse_open(const char *url, struct err *err)
{
	struct clickhouse *c = calloc(1, sizeof(*c));

	if (!c) {
		err_set(err, -ENOMEM, "no memory for a client of ClickHouse");
		return NULL;
	}
	c->connect_ms = CLICKHOUSE_CONNECT_MS;
	c->answer_ms = clickhouse_answer_limit();
	if (clickhouse_url_parse(&c->url, url, getenv("CLICKHOUSE_PASSWORD"), err) < 0 ||
	    libcurl_load(err) < 0) {
		clickhouse_close(c);
		return NULL;
	}
	c->handles = calloc(c->url.nr_hosts, sizeof(*c->handles));
	if (!c->handles) {
		err_set(err, -ENOMEM, "no memory for a client of ClickHouse");
		clickhouse_close(c);
		return NULL;
	}
	return c;
}

void clickhouse_close(struct clickhouse *c)
{
	size_t i;

	if (!c)
		return;
	for (i = 0; c->handles && i < c->url.nr_hosts; i++)
		if (c->handles[i])
			libcurl.curl_easy_cleanup(c->handles[i]);
	free(c->handles);
	clickhouse_url_release(&c->url);
	free(c);
}

size_t clickhouse_shard_of(const struct clickhouse *c, const char *host)
{
	return (size_t)(site_hash(NULL, 0, host) % c->url.nr_hosts);
}

/* ---- one transfer ------------------------------------------------------------ */

static size_t clickhouse_on_read(char *to, size_t size, size_t nr, void *ctx)
{
	struct clickhouse_transfer *t = ctx;
	size_t room = size * nr, used = 0;

	while (room && t->piece < t->call->nr_body) {
		const struct bytes *piece = t->call->body[t->piece];
		size_t part = piece->size - t->at < room ? piece->size - t->at : room;

		if (part)
			memcpy(to + used, piece->data + t->at, part);
		t->at += part;
		used += part;
		room -= part;
		if (t->at == piece->size) {
			t->piece++;
			t->at = 0;
		}
	}
	return used;
}

static size_t clickhouse_on_write(char *from, size_t size, size_t nr, void *ctx)
{
	struct clickhouse_transfer *t = ctx;

	if (t->answer.size + size * nr > CLICKHOUSE_ANSWER_MAX) {
		t->is_too_large = true;
		return 0;
	}
	bytes_add(&t->answer, from, size * nr);
	return t->answer.error ? 0 : size * nr;
}

static size_t clickhouse_body_size(const struct clickhouse_call *call)
{
	size_t i, size = 0;

	for (i = 0; i < call->nr_body; i++)
		size += call->body[i]->size;
	return size;
}

static void clickhouse_add_parameter(struct bytes *url, CURL *curl, const char *name,
				     const char *value)
{
	char *escaped = libcurl.curl_easy_escape(curl, value, 0);

	if (!escaped) {
		url->error = -ENOMEM;
		return;
	}
	bytes_add_text(url, name);
	bytes_add_text(url, escaped);
	libcurl.curl_free(escaped);
}

/* "http://host:8123/?database=..."; the statement is in it if the body has rows. */
static void clickhouse_make_url(const struct clickhouse *c, size_t shard, CURL *curl,
				const struct clickhouse_call *call, struct bytes *url)
{
	char host[320];

	bytes_add_text(url, c->url.has_tls ? "https://" : "http://");
	bytes_add_text(url, clickhouse_host_text(c, shard, host));
	bytes_add_text(url, "/?wait_end_of_query=1");
	if (strncmp(call->sql, "CREATE DATABASE", 15) != 0)
		clickhouse_add_parameter(url, curl, "&database=", c->url.database);
	if (call->query_id)
		clickhouse_add_parameter(url, curl, "&query_id=", call->query_id);
	if (call->settings) {
		bytes_add_text(url, "&");
		bytes_add_text(url, call->settings);
	}
	if (call->nr_body)
		clickhouse_add_parameter(url, curl, "&query=", call->sql);
	bytes_add(url, "", 1);
}

static struct curl_slist *clickhouse_headers(const struct clickhouse *c)
{
	static const char *const plain[] = { "Expect:", "Content-Type: application/octet-stream" };
	char line[CLICKHOUSE_NAME_SIZE + 32];
	struct curl_slist *list = NULL, *more;
	size_t i;

	for (i = 0; i < 4; i++) {
		if (i < 2)
			snprintf(line, sizeof(line), "%s", plain[i]);
		else
			snprintf(line, sizeof(line), "X-ClickHouse-%s: %s", i == 2 ? "User" : "Key",
				 i == 2 ? c->url.user : c->url.password);
		more = libcurl.curl_slist_append(list, line);
		if (!more) {
			libcurl.curl_slist_free_all(list);
			return NULL;
		}
		list = more;
	}
	explicit_bzero(line, sizeof(line));
	return list;
}

/* Texts are copied: without memory the request would lack one. */
static bool clickhouse_set_texts(CURL *curl, const char *url, struct curl_slist *headers)
{
	return libcurl.curl_easy_setopt(curl, CURLOPT_URL, url) == CURLE_OK &&
	       libcurl.curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
	       libcurl.curl_easy_setopt(curl, CURLOPT_NOPROXY, "*") == CURLE_OK;
}

static bool clickhouse_set_options(const struct clickhouse *c, CURL *curl, const char *url,
				   struct curl_slist *headers, struct clickhouse_transfer *t)
{
	size_t size = t->call->nr_body ? clickhouse_body_size(t->call) : strlen(t->call->sql);

	libcurl.curl_easy_setopt(curl, CURLOPT_POST, 1L);
	libcurl.curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	libcurl.curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)c->connect_ms);
	libcurl.curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)c->answer_ms);
	libcurl.curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, t->error);
	libcurl.curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, clickhouse_on_write);
	libcurl.curl_easy_setopt(curl, CURLOPT_WRITEDATA, t);
	libcurl.curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
	if (t->call->nr_body) {
		libcurl.curl_easy_setopt(curl, CURLOPT_READFUNCTION, clickhouse_on_read);
		libcurl.curl_easy_setopt(curl, CURLOPT_READDATA, t);
		libcurl.curl_easy_setopt(curl, CURLOPT_UPLOAD_BUFFERSIZE, (long)(1 << 20));
	} else {
		libcurl.curl_easy_setopt(curl, CURLOPT_POSTFIELDS, t->call->sql);
	}
	return clickhouse_set_texts(curl, url, headers);
}

/* ---- failures ------------------------------------------------------------------ */

static int clickhouse_local(struct clickhouse *c, struct err *err)
{
	c->fault = CLICKHOUSE_LOCAL;
	return err_set(err, -ENOMEM, "no memory for a call of ClickHouse");
}

static int clickhouse_fail(struct clickhouse *c, size_t shard, enum clickhouse_fault fault, int rc,
			   const char *why, struct err *err)
{
	char host[320];

	c->fault = fault;
	err_set(err, rc, "cannot use ClickHouse at %s: %s", clickhouse_host_text(c, shard, host),
		why);
	return rc;
}

static int clickhouse_fail_transfer(struct clickhouse *c, size_t shard, CURLcode code,
				    const struct clickhouse_transfer *t, struct err *err)
{
	const char *why = t->error[0] ? t->error : libcurl.curl_easy_strerror(code);
	bool is_unsent = code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
			 code == CURLE_SSL_CONNECT_ERROR || code == CURLE_PEER_FAILED_VERIFICATION;

	if (t->is_too_large)
		return clickhouse_fail(c, shard, CLICKHOUSE_REFUSED, -EFBIG,
				       "the answer is larger than 256 MiB", err);
	if (t->answer.error || code == CURLE_OUT_OF_MEMORY)
		return clickhouse_local(c, err);
	clickhouse_fail(c, shard, is_unsent ? CLICKHOUSE_UNREACHABLE : CLICKHOUSE_UNCERTAIN,
			code == CURLE_OPERATION_TIMEDOUT ? -ETIMEDOUT
			: is_unsent                      ? -ECONNREFUSED
							 : -ECONNRESET,
			why, err);
	if (is_unsent)
		err_hint(err, "is the server running, and is this its HTTP port (8123)?");
	return err->code;
}

static void clickhouse_hint(const struct clickhouse *c, struct err *err)
{
	if (c->fault == CLICKHOUSE_DENIED)
		err_hint(err, "check the user in the address and CLICKHOUSE_PASSWORD");
	else if (c->fault == CLICKHOUSE_NO_DATABASE)
		err_hint(err, "`corotracer load` creates the database '%s'", c->url.database);
	else if (c->fault == CLICKHOUSE_SCHEMA)
		err_hint(err,
			 "the tables of '%s' are not those of this version; use another database",
			 c->url.database);
	else if (c->code == CLICKHOUSE_SESSION_NOT_FOUND)
		err_hint(err, "name the server itself, not a proxy in front of several servers");
	else if (c->fault == CLICKHOUSE_BUSY)
		err_hint(err, "the server is overloaded or a shard is missing; try again later");
}

/* The server answered with an error. */
static int clickhouse_fail_answer(struct clickhouse *c, size_t shard, long status,
				  const struct clickhouse_transfer *t, struct err *err)
{
	size_t size = t->answer.size < CLICKHOUSE_ERROR_MAX ? t->answer.size : CLICKHOUSE_ERROR_MAX;
	char text[400], why[448];

	c->code = clickhouse_error_parse(size ? (const char *)t->answer.data : "", size, text,
					 sizeof(text));
	if (c->code)
		snprintf(why, sizeof(why), "%s (code %d)", text, c->code);
	else
		snprintf(why, sizeof(why), "HTTP status %ld: %.300s", status, text);
	clickhouse_fail(c, shard, c->code ? clickhouse_fault_of(c->code) : CLICKHOUSE_REFUSED,
			-EREMOTEIO, why, err);
	if (!c->code && (status == 401 || status == 403))
		c->fault = CLICKHOUSE_DENIED;
	if (!c->code && (status == 429 || status == 502 || status == 503 || status == 504))
		c->fault = CLICKHOUSE_BUSY;
	clickhouse_hint(c, err);
	return err->code;
}

/* ---- calls ----------------------------------------------------------------------- */

static int clickhouse_perform(struct clickhouse *c, size_t shard, CURL *curl, const char *url,
			      struct clickhouse_transfer *t, struct err *err)
{
	struct curl_slist *headers = clickhouse_headers(c);
	CURLcode code;
	long status = 0;

	if (!headers)
		return clickhouse_local(c, err);
	libcurl.curl_easy_reset(curl);
	code = clickhouse_set_options(c, curl, url, headers, t) ? libcurl.curl_easy_perform(curl)
								: CURLE_OUT_OF_MEMORY;
	libcurl.curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	libcurl.curl_slist_free_all(headers);
	c->sent += clickhouse_body_size(t->call);
	if (code != CURLE_OK)
		return clickhouse_fail_transfer(c, shard, code, t, err);
	if (status != 200)
		return clickhouse_fail_answer(c, shard, status, t, err);
	return 0;
}

int clickhouse_send(struct clickhouse *c, size_t shard, const struct clickhouse_call *call,
		    struct bytes *answer, struct err *err)
{
	struct clickhouse_transfer t = { .call = call };
	struct bytes url = { 0 };
	int rc;

	c->fault = CLICKHOUSE_NO_FAULT;
	c->code = 0;
	if (!c->handles[shard])
		c->handles[shard] = libcurl.curl_easy_init();
	if (!c->handles[shard])
		return clickhouse_local(c, err);
	clickhouse_make_url(c, shard, c->handles[shard], call, &url);
	if (url.error)
		rc = clickhouse_local(c, err);
	else
		rc = clickhouse_perform(c, shard, c->handles[shard], (const char *)url.data, &t,
					err);
	if (rc == 0 && answer) {
		bytes_add(answer, t.answer.data, t.answer.size);
		rc = answer->error ? clickhouse_local(c, err) : 0;
	}
	bytes_release(&t.answer);
	bytes_release(&url);
	return rc;
}

int clickhouse_ask(struct clickhouse *c, size_t shard, const char *sql, struct bytes *answer,
		   struct err *err)
{
	struct clickhouse_call call = { .sql = sql };

	return clickhouse_send(c, shard, &call, answer, err);
}

int clickhouse_number(struct clickhouse *c, size_t shard, const char *sql, uint64_t *number,
		      struct err *err)
{
	struct bytes answer = { 0 };
	char *end = NULL;
	int rc = clickhouse_ask(c, shard, sql, &answer, err);

	if (rc == 0)
		bytes_add(&answer, "", 1);
	if (rc == 0 && answer.error)
		rc = clickhouse_local(c, err);
	if (rc == 0) {
		*number = strtoull((const char *)answer.data, &end, 10);
		if (!end || end == (const char *)answer.data || *end != '\n')
			rc = clickhouse_fail(c, shard, CLICKHOUSE_REFUSED, -EPROTO,
					     "its answer is not a number", err);
	}
	bytes_release(&answer);
	return rc;
}

/* The database may not exist yet: the version is asked without one. */
static int clickhouse_ask_version(struct clickhouse *c, size_t shard, unsigned *version,
				  struct err *err)
{
	char database[CLICKHOUSE_NAME_SIZE];
	struct bytes answer = { 0 };
	int rc;

	memcpy(database, c->url.database, sizeof(database));
	memcpy(c->url.database, "system", sizeof("system"));
	rc = clickhouse_ask(c, shard, "SELECT version()", &answer, err);
	memcpy(c->url.database, database, sizeof(database));
	if (rc == 0) {
		*version = clickhouse_version_parse((const char *)answer.data, answer.size);
		if (!*version)
			rc = clickhouse_fail(c, shard, CLICKHOUSE_REFUSED, -EPROTO,
					     "this server is not ClickHouse", err);
	}
	bytes_release(&answer);
	return rc;
}

/* The dialect is that of the oldest shard. */
int clickhouse_hello(struct clickhouse *c, struct err *err)
{
	unsigned version, oldest = UINT32_MAX;
	size_t shard;
	int rc = 0;

	for (shard = 0; shard < clickhouse_shards(c) && rc == 0; shard++) {
		rc = clickhouse_ask_version(c, shard, &version, err);
		if (rc == 0 && version < oldest)
			oldest = version;
	}
	if (rc < 0)
		return rc;
	c->version = oldest;
	c->is_old = oldest < CLICKHOUSE_CURRENT;
	return 0;
}

void clickhouse_quote(struct bytes *sql, const char *text)
{
	bytes_add(sql, "'", 1);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			bytes_add(sql, "\\", 1);
		bytes_add(sql, text, 1);
	}
	bytes_add(sql, "'", 1);
}

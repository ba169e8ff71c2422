/* SPDX-License-Identifier: MIT */
/* nats_connection.c - a connection to a NATS server with the stream of blocks. */
#include "ship/nats_connection.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"

#define NATS_CONNECT_MS INT64_C(2000)
/* A connection on which nothing moves is noticed after the second ping. */
#define NATS_PING_MS INT64_C(2000)
#define NATS_PINGS   2
/* In which the server recognizes a block that is sent again; the loader does so at any time. */
#define NATS_DUPLICATES INT64_C(600000000000)
/* All of it, besides the time for each server: longer than its calls wait by themselves. */
#define NATS_OPEN_NS (12 * NS_PER_SEC)

/* ---- the address ------------------------------------------------------------------ */

static int nats_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Copy @size bytes with %XX decoded.  False: they do not fit. */
static bool nats_decode(const char *from, size_t size, char *to, size_t room)
{
	size_t i, nr = 0;

	for (i = 0; i < size && nr + 1 < room; i++) {
		if (from[i] == '%' && i + 2 < size && nats_hex(from[i + 1]) >= 0 &&
		    nats_hex(from[i + 2]) >= 0) {
			to[nr++] = (char)(nats_hex(from[i + 1]) * 16 + nats_hex(from[i + 2]));
			i += 2;
		} else {
			to[nr++] = from[i];
		}
	}
	to[nr] = 0;
	return i == size;
}

static bool nats_parse_user(struct nats_address *a, const char *text, size_t size)
{
	const char *colon = memchr(text, ':', size), *password = getenv("NATS_PASSWORD");
	size_t user = colon ? (size_t)(colon - text) : size;

	if (!nats_decode(text, user, a->user, sizeof(a->user)))
		return false;
	if (colon)
		return nats_decode(colon + 1, size - user - 1, a->password, sizeof(a->password));
	return (size_t)snprintf(a->password, sizeof(a->password), "%s", password ? password : "") <
	       sizeof(a->password);
}

static bool nats_parse_servers(struct nats_address *a, const char *text)
{
	while (*text && a->nr_servers < NATS_SERVERS_MAX) {
		size_t size = strcspn(text, ",");
		char *to = a->servers[a->nr_servers];

		if (!size || size > 300 || memchr(text, '/', size) || memchr(text, '@', size))
			return false;
		snprintf(to, NATS_URL_SIZE, "nats://%.*s", (int)size, text);
		a->nr_servers++;
		text += size;
		text += *text == ',';
	}
	return a->nr_servers && !*text;
}

int nats_address_parse(struct nats_address *a, const char *rest, struct err *err)
{
	const char *at = strrchr(rest, '@'), *servers = at ? at + 1 : rest;

	memset(a, 0, sizeof(*a));
	if ((at && !nats_parse_user(a, rest, (size_t)(at - rest))) ||
	    !nats_parse_servers(a, servers)) {
		err_set(err, -EINVAL, "cannot ship to nats://%.200s: this is not an address",
			servers);
		err_hint(err, "expected nats://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]...]");
		return err->code;
	}
	snprintf(a->name, sizeof(a->name), "nats://%.*s%s%.400s", at ? 100 : 0, a->user,
		 at ? "@" : "", servers);
	return 0;
}

/* ---- the connection --------------------------------------------------------------- */

int nats_failed(struct err *err, natsStatus status, const char *what, const char *name)
{
	const char *detail = libnats.nats_GetLastError(NULL), *place;
	int code = -ECONNREFUSED;

	/* Without the library's own source line: "(conn.c:2088): No server available". */
	place = detail && detail[0] == '(' ? strstr(detail, "): ") : NULL;
	if (place)
		detail = place + 3;

	if (status == NATS_CONNECTION_AUTH_FAILED || status == NATS_NOT_PERMITTED)
		code = -EACCES;
	else if (status == NATS_NO_MEMORY)
		code = -ENOMEM;
	else if (status == NATS_TIMEOUT)
		code = -ETIMEDOUT;
	err_set(err, code, "cannot %s %s: %s", what, name,
		detail && detail[0] ? detail : libnats.natsStatus_GetText(status));
	if (code == -EACCES)
		err_hint(err, "check user and password: nats://USER@HOST with NATS_PASSWORD in the "
			      "environment");
	else if (code != -ENOMEM)
		err_hint(err, "blocks stay in the spool until the server answers");
	return code;
}

static natsStatus nats_set_options(natsOptions *o, const struct nats_address *a)
{
	const char *servers[NATS_SERVERS_MAX];
	natsStatus s;
	int i;

	for (i = 0; i < a->nr_servers; i++)
		servers[i] = a->servers[i];
	s = libnats.natsOptions_SetServers(o, servers, a->nr_servers);
	if (s == NATS_OK && a->user[0])
		s = libnats.natsOptions_SetUserInfo(o, a->user, a->password);
	if (s == NATS_OK)
		s = libnats.natsOptions_SetName(o, "corotracer");
	if (s == NATS_OK)
		s = libnats.natsOptions_SetTimeout(o, NATS_CONNECT_MS);
	/* A lost connection is opened again here, and what has not arrived is sent again. */
	if (s == NATS_OK)
		s = libnats.natsOptions_SetAllowReconnect(o, false);
	if (s == NATS_OK)
		s = libnats.natsOptions_SetPingInterval(o, NATS_PING_MS);
	if (s == NATS_OK)
		s = libnats.natsOptions_SetMaxPingsOut(o, NATS_PINGS);
	if (s == NATS_OK)
		s = libnats.natsOptions_SetWriteDeadline(o, NATS_CONNECT_MS);
	return s;
}

static int nats_connect(struct nats_connection *c, const struct nats_address *a, struct err *err)
{
	natsOptions *options = NULL;
	natsStatus s = libnats.natsOptions_Create(&options);

	if (s == NATS_OK)
		s = nats_set_options(options, a);
	if (s == NATS_OK)
		s = libnats.natsConnection_Connect(&c->nc, options);
	if (options)
		libnats.natsOptions_Destroy(options);
	return s == NATS_OK ? 0 : nats_failed(err, s, "connect to", a->name);
}

static int nats_no_jetstream(struct err *err, const struct nats_address *a)
{
	err_set(err, -ENOTSUP, "cannot ship to %s: the server has no JetStream", a->name);
	err_hint(err, "start it with JetStream: nats-server -js -sd DIRECTORY");
	return err->code;
}

/*
 * A full stream refuses blocks instead of dropping old ones, and blocks stay until a loader has
 * taken them: loss happens only in the spool, where it is counted.
 */
static natsStatus nats_add_stream(jsCtx *js, jsErrCode *code)
{
	const char *subjects[] = { NATS_SUBJECTS };
	jsStreamConfig config;

	libnats.jsStreamConfig_Init(&config);
	config.Name = NATS_STREAM;
	config.Subjects = subjects;
	config.SubjectsLen = 1;
	config.Storage = js_FileStorage;
	config.Retention = js_WorkQueuePolicy;
	config.Discard = js_DiscardNew;
	config.Duplicates = NATS_DUPLICATES;
	return libnats.js_AddStream(NULL, js, &config, NULL, code);
}

static int nats_find_stream(struct nats_connection *c, const struct nats_address *a,
			    struct err *err)
{
	jsStreamInfo *info = NULL;
	jsErrCode code = 0;
	jsCtx *js = NULL;
	jsOptions options;
	natsStatus s = libnats.jsOptions_Init(&options);

	options.Wait = NATS_CONNECT_MS;
	if (s == NATS_OK)
		s = libnats.natsConnection_JetStream(&js, c->nc, &options);
	if (s == NATS_OK)
		s = libnats.js_GetStreamInfo(&info, js, NATS_STREAM, NULL, &code);
	c->is_limited = info && (info->Config->MaxBytes > 0 || info->Config->MaxMsgs > 0 ||
				 info->Config->MaxMsgsPerSubject > 0);
	if (info)
		libnats.jsStreamInfo_Destroy(info);
	if (s == NATS_NOT_FOUND || code == JSStreamNotFoundErr)
		s = nats_add_stream(js, &code);
	libnats.jsCtx_Destroy(js);
	if (s == NATS_OK)
		return 0;
	if (s == NATS_NO_RESPONDERS || code == JSNotEnabledErr || code == JSNotEnabledForAccountErr)
		return nats_no_jetstream(err, a);
	return nats_failed(err, s, "use stream " NATS_STREAM " of", a->name);
}

static int nats_open_unlimited(struct nats_connection *c, const struct nats_address *a,
			       struct err *err)
{
	char subject[NATS_URL_SIZE];
	natsStatus s;

	memset(c, 0, sizeof(*c));
	if (nats_connect(c, a, err) < 0)
		return err->code;
	if (nats_find_stream(c, a, err) < 0) {
		nats_connection_close(c);
		return err->code;
	}
	c->max_payload = (size_t)libnats.natsConnection_GetMaxPayload(c->nc);
	s = libnats.natsInbox_Create(&c->inbox);
	if (s == NATS_OK) {
		snprintf(subject, sizeof(subject), "%s.>", c->inbox);
		s = libnats.natsConnection_SubscribeSync(&c->replies, c->nc, subject);
	}
	if (s == NATS_OK)
		return 0;
	nats_connection_close(c);
	return nats_failed(err, s, "subscribe at", a->name);
}

void nats_connection_close(struct nats_connection *c)
{
	libnats.natsSubscription_Destroy(c->replies);
	libnats.natsInbox_Destroy(c->inbox);
	libnats.natsConnection_Destroy(c->nc);
	memset(c, 0, sizeof(*c));
}

/* ---- a time limit ----------------------------------------------------------------- */

/*
 * libnats 3.4 waits for ever if its first allocation fails: it reports that by a function that
 * enters pthread_once() again.  A connection is made in a thread, which is given up after a time.
 * The last of the two frees the attempt.
 */
struct nats_attempt {
	struct nats_address address;
	struct nats_connection connection;
	struct err err;
	int rc;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	bool is_ended, is_given_up;
};

static struct nats_attempt *nats_attempt_new(const struct nats_address *a)
{
	struct nats_attempt *t = calloc(1, sizeof(*t));
	pthread_condattr_t monotonic;

	if (!t)
		return NULL;
	t->address = *a;
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&t->ended, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return t;
}

static void nats_attempt_free(struct nats_attempt *t)
{
	pthread_cond_destroy(&t->ended);
	pthread_mutex_destroy(&t->lock);
	explicit_bzero(&t->address, sizeof(t->address));
	free(t);
}

static void *nats_attempt_run(void *arg)
{
	struct nats_attempt *t = arg;
	bool is_given_up;

	t->rc = nats_open_unlimited(&t->connection, &t->address, &t->err);
	pthread_mutex_lock(&t->lock);
	t->is_ended = true;
	is_given_up = t->is_given_up;
	pthread_cond_signal(&t->ended);
	pthread_mutex_unlock(&t->lock);
	if (is_given_up) {
		if (t->rc == 0)
			nats_connection_close(&t->connection);
		nats_attempt_free(t);
	}
	return NULL;
}

/* False: it was given up, and belongs to its thread. */
static bool nats_attempt_wait(struct nats_attempt *t)
{
	uint64_t until = clock_now_ns() + NATS_OPEN_NS +
			 (uint64_t)(t->address.nr_servers * NATS_CONNECT_MS) * NS_PER_MS;
	struct timespec at = { .tv_sec = (time_t)(until / NS_PER_SEC),
			       .tv_nsec = (long)(until % NS_PER_SEC) };
	bool is_ended;

	pthread_mutex_lock(&t->lock);
	while (!t->is_ended && pthread_cond_timedwait(&t->ended, &t->lock, &at) == 0)
		;
	is_ended = t->is_ended;
	t->is_given_up = !is_ended;
	pthread_mutex_unlock(&t->lock);
	return is_ended;
}

int nats_connection_open(struct nats_connection *c, const struct nats_address *a, struct err *err)
{
	struct nats_attempt *t = nats_attempt_new(a);
	pthread_attr_t detached;
	pthread_t thread;
	int rc;

	memset(c, 0, sizeof(*c));
	if (!t)
		return err_set(err, -ENOMEM, "no memory to connect to %s", a->name);
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	rc = -pthread_create(&thread, &detached, nats_attempt_run, t);
	pthread_attr_destroy(&detached);
	if (rc < 0) {
		nats_attempt_free(t);
		return err_set(err, rc, "cannot start a thread for %s: %s", a->name, strerror(-rc));
	}
	if (!nats_attempt_wait(t)) {
		err_set(err, -ETIMEDOUT, "cannot connect to %s: libnats does not return", a->name);
		err_hint(err, "it may lack memory: start this command again");
		return err->code;
	}
	*c = t->connection;
	rc = t->rc;
	if (rc < 0)
		*err = t->err;
	nats_attempt_free(t);
	return rc;
}

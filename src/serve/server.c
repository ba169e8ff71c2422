/* SPDX-License-Identifier: MIT */
/* server.c - serve the dashboard's page and its data over HTTP: access checks and responses. */
#include "serve/server_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#include "page/bundle.h"

#define CONNECTIONS  500u
#define IDLE_SECONDS 30u

/* Per connection: the header of a request must fit. */
#define CONNECTION_MEMORY ((size_t)32 * 1024)

/* Total size of cached responses. */
#define CACHE_BYTES ((size_t)64 << 20)

/* Descriptors that are not connections: trace, sidecar, temporary file, epoll, standard ones. */
#define OTHER_DESCRIPTORS 64u

/* ---- responses -------------------------------------------------------------------- */

static void server_put_header(struct MHD_Response *r, const char *name, const char *value)
{
	libmicrohttpd.MHD_add_response_header(r, name, value);
}

#define NO_POLICY "default-src 'none'; frame-ancestors 'none'; base-uri 'none'"

static void put_common(struct MHD_Response *r, const char *type, const char *policy)
{
	server_put_header(r, "Content-Security-Policy", policy);
	server_put_header(r, "Content-Type", type);
	server_put_header(r, "X-Content-Type-Options", "nosniff");
	server_put_header(r, "Referrer-Policy", "no-referrer");
	server_put_header(r, "X-Frame-Options", "DENY");
	server_put_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	server_put_header(r, "Cross-Origin-Opener-Policy", "same-origin");
	/* The content changes, and is for one user only. */
	server_put_header(r, "Cache-Control", "no-store");
}

/* Queue @r and drop this reference to it. */
static enum MHD_Result send_it(struct MHD_Connection *c, unsigned status, struct MHD_Response *r)
{
	enum MHD_Result rc;

	if (!r)
		return MHD_NO;
	rc = libmicrohttpd.MHD_queue_response(c, status, r);
	libmicrohttpd.MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result server_report(struct MHD_Connection *c, unsigned status, const char *words)
{
	struct MHD_Response *r = libmicrohttpd.MHD_create_response_from_buffer(
		strlen(words), (void *)words, MHD_RESPMEM_MUST_COPY);

	if (!r)
		return MHD_NO;
	put_common(r, "text/plain; charset=utf-8", NO_POLICY);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		server_put_header(r, "Allow", "GET, HEAD");
	return send_it(c, status, r);
}

static enum MHD_Result say_nothing_there(struct MHD_Connection *c)
{
	return server_report(c, MHD_HTTP_NOT_FOUND, "there is nothing here\n");
}

/* Takes ownership of the bytes. */
static struct MHD_Response *response_of(struct bytes *b)
{
	struct MHD_Response *r = libmicrohttpd.MHD_create_response_from_buffer(
		b->size, b->data, MHD_RESPMEM_MUST_FREE);

	if (!r)
		bytes_release(b);
	memset(b, 0, sizeof(*b));
	return r;
}

static enum MHD_Result send_page(struct MHD_Connection *c)
{
	char policy[PAGE_POLICY_SIZE];
	const void *page;
	struct MHD_Response *r;
	size_t size;

	page_find(&page, &size, policy);
	r = libmicrohttpd.MHD_create_response_from_buffer(size, (void *)page,
							  MHD_RESPMEM_PERSISTENT);
	if (r)
		put_common(r, "text/html; charset=utf-8", policy);
	return send_it(c, MHD_HTTP_OK, r);
}

/* ---- sections ---------------------------------------------------------------------- */

static struct cached *find_cached(struct server *s, const char *name, uint64_t tick)
{
	size_t i;

	for (i = 0; i < SERVER_CACHED; i++) {
		struct cached *at = &s->cached[i];

		if (!at->response || at->tick != tick || strcmp(at->name, name) != 0)
			continue;
		at->used = ++s->uses;
		return at;
	}
	return NULL;
}

static void drop_cached(struct cached *at)
{
	if (at->response)
		libmicrohttpd.MHD_destroy_response(at->response);
	memset(at, 0, sizeof(*at));
}

/* Make room for @size bytes: evicts the least recently used entries. */
static struct cached *server_make_room(struct server *s, size_t size)
{
	size_t i, sum = size;
	struct cached *oldest = &s->cached[0];

	for (i = 0; i < SERVER_CACHED; i++) {
		sum += s->cached[i].size;
		if (s->cached[i].used < oldest->used)
			oldest = &s->cached[i];
	}
	drop_cached(oldest);
	if (sum > CACHE_BYTES) {
		for (i = 0; i < SERVER_CACHED; i++)
			drop_cached(&s->cached[i]);
	}
	return oldest;
}

static bool accepts_gzip(struct MHD_Connection *c)
{
	const char *list = libmicrohttpd.MHD_lookup_connection_value(
		c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT_ENCODING);

	/* "gzip;q=0" is not handled: no known client sends it. */
	return list && strcasestr(list, "gzip");
}

static const char *server_type_of(const struct bytes *b)
{
	return b->size && b->data[0] == '{' ? "application/json" : "application/octet-stream";
}

/* Uncompressed, for clients without gzip, such as a user with curl. */
static enum MHD_Result send_plain(struct MHD_Connection *c, struct bytes *section)
{
	const char *type = server_type_of(section);
	struct MHD_Response *r = response_of(section);

	if (r) {
		put_common(r, type, NO_POLICY);
		server_put_header(r, "Vary", "Accept-Encoding");
	}
	return send_it(c, MHD_HTTP_OK, r);
}

static enum MHD_Result send_packed(struct server *s, struct MHD_Connection *c, const char *name,
				   uint64_t tick, struct bytes *section)
{
	const char *type = server_type_of(section);
	struct bytes packed = { 0 };
	struct MHD_Response *r;
	struct err err = { 0 };
	struct cached *at;
	size_t size;

	if (page_gzip(section, &packed, &err) < 0 || packed.error) {
		bytes_release(&packed);
		return send_plain(c, section);
	}
	bytes_release(section);
	size = packed.size;
	r = response_of(&packed);
	if (!r)
		return MHD_NO;
	put_common(r, type, NO_POLICY);
	server_put_header(r, "Vary", "Accept-Encoding");
	server_put_header(r, "Content-Encoding", "gzip");
	at = server_make_room(s, size);
	*at = (struct cached){ .tick = tick, .used = ++s->uses, .size = size, .response = r };
	snprintf(at->name, sizeof(at->name), "%s", name);
	return libmicrohttpd.MHD_queue_response(c, MHD_HTTP_OK, r);
}

/*
 * Names are added between two ticks, and a section that is made later in the same tick refers to
 * them: the list of all names is never an older one.
 */
static bool section_may_be_cached(const char *name)
{
	return strcmp(name, "strings") != 0;
}

static enum MHD_Result send_section(struct server *s, struct MHD_Connection *c, const char *name)
{
	struct bytes section = { 0 };
	struct err err = { 0 };
	struct cached *at;
	uint64_t tick;
	bool ended;
	int rc;

	if (strlen(name) >= sizeof(s->cached[0].name))
		return say_nothing_there(c);
	feed_state(s->feed, &tick, &ended);
	at = accepts_gzip(c) && section_may_be_cached(name) ? find_cached(s, name, tick) : NULL;
	if (at)
		return libmicrohttpd.MHD_queue_response(c, MHD_HTTP_OK, at->response);
	rc = feed_section(s->feed, name, &section, &tick, &err);
	if (rc < 0) {
		bytes_release(&section);
		return rc == -ENOENT
			       ? say_nothing_there(c)
			       : server_report(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "no memory\n");
	}
	return accepts_gzip(c) ? send_packed(s, c, name, tick, &section) : send_plain(c, &section);
}

/* ---- the stream -------------------------------------------------------------------- */

static uint64_t number_in(const char *text)
{
	char *end;
	unsigned long long n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;

	return n && !*end ? n : 0;
}

/* A browser that lost the connection sends the last event it received. */
static uint64_t wanted_since(struct MHD_Connection *c)
{
	const char *last = libmicrohttpd.MHD_lookup_connection_value(c, MHD_HEADER_KIND,
								     "Last-Event-ID");

	if (last)
		return number_in(last);
	return number_in(
		libmicrohttpd.MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "since"));
}

static enum MHD_Result send_stream(struct server *s, struct MHD_Connection *c, bool head_only)
{
	struct MHD_Response *r = head_only ? libmicrohttpd.MHD_create_response_from_buffer(
						     0, (void *)"", MHD_RESPMEM_PERSISTENT)
					   : stream_response(s, c, wanted_since(c));

	if (r)
		put_common(r, "text/event-stream", NO_POLICY);
	return send_it(c, MHD_HTTP_OK, r);
}

/* ---- requests ----------------------------------------------------------------------- */

/* The part of @url after "/TOKEN"; NULL: the token is missing or wrong. */
static const char *past_token(const struct server *s, const char *url)
{
	char token[SERVER_TOKEN_SIZE + 1];

	if (strnlen(url, SERVER_TOKEN_SIZE + 1) <= SERVER_TOKEN_SIZE || url[0] != '/')
		return NULL;
	memcpy(token, url + 1, SERVER_TOKEN_SIZE);
	token[SERVER_TOKEN_SIZE] = '\0';
	return listener_token_is(s->listener, token) ? url + 1 + SERVER_TOKEN_SIZE : NULL;
}

static enum MHD_Result server_redirect(struct server *s, struct MHD_Connection *c)
{
	struct MHD_Response *r = libmicrohttpd.MHD_create_response_from_buffer(
		0, (void *)"", MHD_RESPMEM_PERSISTENT);
	char where[SERVER_TOKEN_SIZE + 3];

	if (!r)
		return MHD_NO;
	put_common(r, "text/plain", NO_POLICY);
	snprintf(where, sizeof(where), "/%s/", s->listener->token);
	server_put_header(r, "Location", where);
	return send_it(c, MHD_HTTP_PERMANENT_REDIRECT, r);
}

static enum MHD_Result server_route(struct server *s, struct MHD_Connection *c, const char *path,
				    bool head_only)
{
	if (!*path)
		return server_redirect(s, c);
	if (!strcmp(path, "/")) {
		pthread_mutex_lock(&s->lock);
		s->was_visited = true;
		pthread_mutex_unlock(&s->lock);
		return send_page(c);
	}
	if (!strcmp(path, "/api/live"))
		return send_stream(s, c, head_only);
	if (!strncmp(path, "/api/", 5))
		return send_section(s, c, path + 5);
	return say_nothing_there(c);
}

static enum MHD_Result server_answer(void *ctx, struct MHD_Connection *c, const char *url,
				     const char *method, const char *version, const char *upload,
				     size_t *upload_size, void **seen)
{
	static int first;
	struct server *s = ctx;
	const char *host = libmicrohttpd.MHD_lookup_connection_value(c, MHD_HEADER_KIND,
								     MHD_HTTP_HEADER_HOST);
	const char *path = past_token(s, url);
	bool head_only = !strcmp(method, MHD_HTTP_METHOD_HEAD);

	(void)version;
	(void)upload;
	/*
	 * Check before a request body is read, so that a client without the secret cannot send one.
	 */
	if (!host || !listener_is_called(s->listener, host))
		return server_report(c, MHD_HTTP_FORBIDDEN, "this server is not called that\n");
	if (!path)
		return say_nothing_there(c);
	guest_has_secret(s, c);
	if (!head_only && strcmp(method, MHD_HTTP_METHOD_GET) != 0)
		return server_report(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!*seen) {
		*seen = &first;
		return MHD_YES;
	}
	if (*upload_size) {
		*upload_size = 0; /* a body of a GET request has no meaning */
		return MHD_YES;
	}
	return server_route(s, c, path, head_only);
}

/* ---- start and stop ---------------------------------------------------------------- */

/* Limit the connections to the available descriptors. */
static unsigned connection_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 64;
	if (limit.rlim_cur < CONNECTIONS + OTHER_DESCRIPTORS && limit.rlim_max > limit.rlim_cur) {
		rlim_t want = CONNECTIONS + OTHER_DESCRIPTORS;

		limit.rlim_cur = want < limit.rlim_max ? want : limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	if (limit.rlim_cur >= CONNECTIONS + OTHER_DESCRIPTORS)
		return CONNECTIONS;
	return limit.rlim_cur / 2 > OTHER_DESCRIPTORS ? (unsigned)limit.rlim_cur - OTHER_DESCRIPTORS
						      : 16;
}

struct server *server_start(const struct listener *l, struct feed *f, struct err *err)
{
	struct server *s;
	int fd;

	if (libmicrohttpd_load(err) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, -ENOMEM, "no memory for a server");
		return NULL;
	}
	s->listener = l;
	s->feed = f;
	s->connection_limit = connection_limit();
	pthread_mutex_init(&s->lock, NULL);
	/*
	 * Duplicate the descriptor: the listener keeps its own.  Use poll instead of epoll: with
	 * epoll, a client that sent half a request and closed at once was not noticed, and kept its
	 * connection until the timeout.
	 */
	fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 3);
	s->daemon = fd < 0 ? NULL
			   : libmicrohttpd.MHD_start_daemon(
				     MHD_USE_POLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0,
				     NULL, NULL, server_answer, s, MHD_OPTION_LISTEN_SOCKET, fd,
				     MHD_OPTION_CONNECTION_LIMIT, s->connection_limit,
				     MHD_OPTION_NOTIFY_CONNECTION, guests_notify, s,
				     MHD_OPTION_CONNECTION_TIMEOUT, IDLE_SECONDS,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
				     MHD_OPTION_END);
	if (s->daemon)
		return s;
	err_errno(err, "the server cannot be started");
	pthread_mutex_destroy(&s->lock);
	free(s);
	return NULL;
}

void server_ticked(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	streams_wake(s);
	pthread_mutex_unlock(&s->lock);
}

void server_beat(struct server *s)
{
	pthread_mutex_lock(&s->lock);
	s->beats++;
	streams_wake(s);
	pthread_mutex_unlock(&s->lock);
}

void server_sweep(struct server *s)
{
	guests_sweep(s);
}

bool server_was_visited(struct server *s)
{
	bool was;

	pthread_mutex_lock(&s->lock);
	was = s->was_visited;
	pthread_mutex_unlock(&s->lock);
	return was;
}

void server_stop(struct server *s)
{
	size_t i;

	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->stopping = true; /* no stream may suspend its connection after this */
	streams_wake(s);
	pthread_mutex_unlock(&s->lock);
	libmicrohttpd.MHD_stop_daemon(s->daemon);
	for (i = 0; i < SERVER_CACHED; i++)
		drop_cached(&s->cached[i]);
	streams_release(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

const char *server_library(void)
{
	static char version[32];

	/*
	 * The version from the header: do not load the library for this.  Two hexadecimal digits
	 * per part.
	 */
	snprintf(version, sizeof(version), "%x.%x.%x", (unsigned)MHD_VERSION >> 24,
		 (unsigned)MHD_VERSION >> 16 & 0xff, (unsigned)MHD_VERSION >> 8 & 0xff);
	return version;
}

/* SPDX-License-Identifier: MIT */
/* metrics_server.c - serve metrics over HTTP, for Prometheus. */
#include "serve/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "page/bundle.h"
#include "serve/libmicrohttpd_loader.h"

#define METRICS_CONNECTIONS       64u
#define METRICS_IDLE_SECONDS      15u
#define METRICS_CONNECTION_MEMORY ((size_t)16 * 1024)

#define METRICS_TYPE_TEXT         "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_TYPE_OPENMETRICS  "application/openmetrics-text; version=1.0.0; charset=utf-8"

struct metrics_server {
	const struct listener *listener;
	struct metrics *metrics;
	struct MHD_Daemon *daemon;
};

static const char *metrics_header(struct MHD_Connection *c, const char *name)
{
	return libmicrohttpd.MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* Queue a response of @body, which it takes. */
static enum MHD_Result metrics_send(struct MHD_Connection *c, unsigned status, const char *type,
				    const char *encoding, struct bytes *body)
{
	struct MHD_Response *r;
	enum MHD_Result rc;

	r = body->error ? NULL
			: libmicrohttpd.MHD_create_response_from_buffer(body->size, body->data,
									MHD_RESPMEM_MUST_FREE);
	if (!r) {
		bytes_release(body);
		return MHD_NO;
	}
	libmicrohttpd.MHD_add_response_header(r, "Content-Type", type);
	libmicrohttpd.MHD_add_response_header(r, "Vary", "Accept, Accept-Encoding");
	libmicrohttpd.MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	libmicrohttpd.MHD_add_response_header(r, "Cache-Control", "no-store");
	if (encoding)
		libmicrohttpd.MHD_add_response_header(r, "Content-Encoding", encoding);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		libmicrohttpd.MHD_add_response_header(r, "Allow", "GET, HEAD");
	rc = libmicrohttpd.MHD_queue_response(c, status, r);
	libmicrohttpd.MHD_destroy_response(r);
	return rc;
}

static enum MHD_Result metrics_say(struct MHD_Connection *c, unsigned status, const char *words)
{
	struct bytes body = { 0 };

	bytes_add_text(&body, words);
	return metrics_send(c, status, "text/plain; charset=utf-8", NULL, &body);
}

static enum MHD_Result metrics_answer_scrape(struct metrics_server *s, struct MHD_Connection *c)
{
	bool is_openmetrics = metrics_wants_openmetrics(metrics_header(c, "Accept"));
	const char *type = is_openmetrics ? METRICS_TYPE_OPENMETRICS : METRICS_TYPE_TEXT;
	const char *encodings = metrics_header(c, "Accept-Encoding");
	struct bytes text = { 0 }, packed = { 0 };
	struct err err = { 0 };

	metrics_render(s->metrics, is_openmetrics, &text);
	if (!encodings || !strcasestr(encodings, "gzip") || page_gzip(&text, &packed, &err) < 0 ||
	    packed.error) {
		bytes_release(&packed);
		return metrics_send(c, MHD_HTTP_OK, type, NULL, &text);
	}
	bytes_release(&text);
	return metrics_send(c, MHD_HTTP_OK, type, "gzip", &packed);
}

static enum MHD_Result metrics_answer(void *ctx, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *upload,
				      size_t *upload_size, void **seen)
{
	static int first;
	struct metrics_server *s = ctx;
	const char *host = metrics_header(c, MHD_HTTP_HEADER_HOST);

	(void)version;
	(void)upload;
	if (s->listener->is_loopback && host && !listener_is_called(s->listener, host))
		return metrics_say(c, MHD_HTTP_FORBIDDEN, "this server is not called that\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return metrics_say(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	if (!*seen || *upload_size) {
		*seen = &first;
		*upload_size = 0; /* a body of a GET request has no meaning */
		return MHD_YES;
	}
	if (!strcmp(url, "/metrics"))
		return metrics_answer_scrape(s, c);
	if (!strcmp(url, "/"))
		return metrics_say(c, MHD_HTTP_OK, "corotracer: metrics are at /metrics\n");
	return metrics_say(c, MHD_HTTP_NOT_FOUND, "there is nothing here, but at /metrics\n");
}

struct metrics_server *metrics_server_start(const struct listener *l, struct metrics *m,
					    struct err *err)
{
	struct metrics_server *s;
	int fd;

	if (libmicrohttpd_load(err) < 0)
		return NULL;
	s = calloc(1, sizeof(*s));
	if (!s) {
		err_set(err, -ENOMEM, "no memory for a server");
		return NULL;
	}
	s->listener = l;
	s->metrics = m;
	/* The listener keeps its own descriptor.  Poll instead of epoll: see server_start(). */
	fd = fcntl(l->fd, F_DUPFD_CLOEXEC, 3);
	if (fd >= 0)
		s->daemon = libmicrohttpd.MHD_start_daemon(
			MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, metrics_answer, s,
			MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
			METRICS_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, METRICS_IDLE_SECONDS,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, METRICS_CONNECTION_MEMORY,
			MHD_OPTION_END);
	if (s->daemon)
		return s;
	err_errno(err, "the server cannot be started");
	free(s);
	return NULL;
}

void metrics_server_stop(struct metrics_server *s)
{
	if (!s)
		return;
	libmicrohttpd.MHD_stop_daemon(s->daemon);
	free(s);
}

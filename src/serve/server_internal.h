/* SPDX-License-Identifier: MIT */
/* server_internal.h - shared by the files of the server. */
#ifndef SERVE_SERVER_INTERNAL_H
#define SERVE_SERVER_INTERNAL_H

#include <pthread.h>

#include "serve/libmicrohttpd_loader.h"
#include "serve/server.h"

struct guest;
struct stream;
struct text;

/* A section at a tick, ready to be sent. */
struct cached {
	char name[48];
	uint64_t tick;
	uint64_t used; /* higher is more recent */
	size_t size;
	struct MHD_Response *response; /* NULL: unused */
};

#define SERVER_CACHED 32

struct server {
	const struct listener *listener;
	struct feed *feed;
	struct MHD_Daemon *daemon;
	struct cached cached[SERVER_CACHED]; /* used only by the server thread */
	uint64_t uses;
	unsigned connection_limit;

	pthread_mutex_t lock; /* protects all below; taken before the feed's lock, never after */
	struct stream *streams;
	struct text *delta; /* the last delta, shared by streams with the same ticks */
	uint64_t delta_since, delta_tick;
	uint64_t beats;
	bool stopping;
	struct guest *guests, **guests_end; /* oldest first */
	unsigned nr_guests;
	bool was_visited; /* a client with the secret requested the page */
};

/* ---- server_stream.c --------------------------------------------------------------- */

/* The response to api/live; NULL: no memory. */
struct MHD_Response *stream_response(struct server *s, struct MHD_Connection *connection,
				     uint64_t since);

/* Wake streams that wait, to check for new data.  Called with the lock held. */
void streams_wake(struct server *s);
void streams_release(struct server *s);

/* ---- server_guests.c ---------------------------------------------------------------- */

/* Callback of MHD_OPTION_NOTIFY_CONNECTION; @ctx is the server. */
void guests_notify(void *ctx, struct MHD_Connection *c, void **context,
		   enum MHD_ConnectionNotificationCode what);

/* The connection made a request with the secret: it is not a guest any more. */
void guest_has_secret(struct server *s, struct MHD_Connection *c);

/* Drop the guests whose time is up. */
void guests_sweep(struct server *s);

/* ---- server_page.c ------------------------------------------------------------------ */

#define PAGE_POLICY_SIZE 2048

/* The page, or a message that none is embedded, and its policy for the HTTP header. */
void page_find(const void **page, size_t *size, char policy[PAGE_POLICY_SIZE]);

#endif

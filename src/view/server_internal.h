/* SPDX-License-Identifier: MIT */
/* server_internal.h - what the parts of the server share. */
#ifndef VIEW_SERVER_INTERNAL_H
#define VIEW_SERVER_INTERNAL_H

#include <pthread.h>

#include "view/libmicrohttpd_loader.h"
#include "view/server.h"

struct guest;
struct stream;
struct text;

/* A section as it was at a tick, ready to be sent. */
struct cached {
	char name[48];
	uint64_t tick;
	uint64_t used; /* the larger, the later */
	size_t size;
	struct MHD_Response *response; /* NULL: free */
};

#define SERVER_CACHED 32

struct server {
	const struct listener *listener;
	struct feed *feed;
	struct MHD_Daemon *daemon;
	struct cached cached[SERVER_CACHED]; /* only the thread that serves uses it */
	uint64_t uses;
	unsigned connection_limit;

	pthread_mutex_t lock; /* of all below; taken before the feed's, never after */
	struct stream *streams;
	struct text *delta; /* the last that was made, for all who want the same */
	uint64_t delta_since, delta_tick;
	uint64_t beats;
	bool stopping;
	struct guest *guests, **guests_end; /* oldest first */
	unsigned nr_guests;
	bool was_visited; /* somebody with the secret has asked for the page */
};

/* ---- server_stream.c --------------------------------------------------------------- */

/* The answer to api/live; NULL without memory. */
struct MHD_Response *stream_response(struct server *s, struct MHD_Connection *connection,
				     uint64_t since);

/* Whoever waits is to look again. */
void streams_wake(struct server *s);
void streams_release(struct server *s);

/* ---- server_guests.c ---------------------------------------------------------------- */

/* For MHD_OPTION_NOTIFY_CONNECTION, with the server. */
void guests_notify(void *ctx, struct MHD_Connection *c, void **context,
		   enum MHD_ConnectionNotificationCode what);

/* The connection has made a request with the secret: it stays. */
void guest_has_secret(struct server *s, struct MHD_Connection *c);

/* Drop the guests whose time is over. */
void guests_sweep(struct server *s);

/* ---- server_page.c ------------------------------------------------------------------ */

#define PAGE_POLICY_SIZE 2048

/* The page, or words that there is none; and its policy, for a header. */
void page_find(const void **page, size_t *size, char policy[PAGE_POLICY_SIZE]);

#endif

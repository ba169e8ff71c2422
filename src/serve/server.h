/* SPDX-License-Identifier: MIT */
/*
 * server.h - serve the dashboard's page and its data over HTTP, for one user.
 *
 * GET /TOKEN/                   the page
 * GET /TOKEN/api/SECTION        as in docs/view-format.md, with gzip if accepted
 * GET /TOKEN/api/live?since=N   server-sent events: what changed since tick N, until the end
 *
 * Trust
 *   Any client that can reach the port may send anything.  A client without the secret learns
 *   nothing, not even which sections exist, and cannot keep others out: connections that have not
 *   shown the secret are few, and end after seconds (server_guests.c).
 *   Clients do not wait for each other: one thread serves all connections without blocking.  A
 *   slow client receives fewer updates, since each update describes the state at the moment when
 *   it can be sent.
 */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include "serve/server_feed.h"
#include "serve/server_listen.h"

struct server;

/* NULL with a message in @err.  Call with signals blocked: the server thread inherits the mask. */
struct server *server_start(const struct listener *l, struct feed *f, struct err *err);

/* Notify the streams of a new tick. */
void server_ticked(struct server *s);

/* Call every SERVER_BEAT_NS, so that both sides notice a broken connection. */
void server_beat(struct server *s);

#define SERVER_BEAT_NS UINT64_C(10000000000)

/* Call at least once a second: drops connections that have not shown the secret in time. */
void server_sweep(struct server *s);

/* True if a client with the secret has requested the page. */
bool server_was_visited(struct server *s);

/* Accepts NULL. */
void server_stop(struct server *s);

/* The version of libmicrohttpd that this was built with; NULL: built without it. */
const char *server_library(void);

#endif

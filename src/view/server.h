/* SPDX-License-Identifier: MIT */
/*
 * server.h - the dashboard's page and its data over HTTP, for one user.
 *
 *	GET /TOKEN/                   the page
 *	GET /TOKEN/api/SECTION        as docs/view-format.md has it, gzip where that is accepted
 *	GET /TOKEN/api/live?since=N   server-sent events: what changed since tick N, until the end
 *
 * Trust
 *   Whoever can reach the port may send anything.  Who does not have the secret learns nothing,
 *   not even what there is, and cannot keep others out: connections that have not shown it are
 *   few, and end after seconds (server_guests.c).  Nobody waits for anybody: one thread serves all
 *connections without blocking; a slow one only has less to read, since what changed is told as of
 *the moment when it can be sent.
 */
#ifndef VIEW_SERVER_H
#define VIEW_SERVER_H

#include "view/server_feed.h"
#include "view/server_listen.h"

struct server;

/* NULL and words.  Signals should be blocked: the thread that serves is made with that. */
struct server *server_start(const struct listener *l, struct feed *f, struct err *err);

/* There was a tick: tell those who listen. */
void server_ticked(struct server *s);

/* Now and then (SERVER_BEAT_NS), so that both sides know that the other is there. */
void server_beat(struct server *s);

#define SERVER_BEAT_NS UINT64_C(10000000000)

/* At least once a second: drops connections that have not shown the secret in time. */
void server_sweep(struct server *s);

/* Has somebody with the secret asked for the page? */
bool server_was_visited(struct server *s);

/* Accepts NULL. */
void server_stop(struct server *s);

/* The version of libmicrohttpd that this was built with; NULL: without. */
const char *server_library(void);

#endif

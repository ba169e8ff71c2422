/* SPDX-License-Identifier: MIT */
/*
 * server_guests.c - limit connections that have not shown the secret, in number and time.
 *
 * Any client that reaches the port may open connections and send slowly.  A connection is a guest
 * until it has made one request with the secret.  At most GUESTS_MAX guests are allowed: another
 * one makes the oldest be dropped.  A guest is also dropped GUEST_NS after it connected, whatever
 * it sends: the library's own timeout restarts with every byte.
 *
 * Dropping is shutdown(2): the library sees the end of the connection and closes it.  The library
 * notifies of the end before it closes the descriptor, so that no other connection can have the
 * same number while the lock is held.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "base/monotonic.h"
#include "serve/server_internal.h"

#define GUESTS_MAX 64u
#define GUEST_NS   (20 * NS_PER_SEC) /* on a busy machine an honest browser may need seconds */

struct guest {
	struct guest *next, **at; /* oldest first; at is NULL: not a guest any more */
	int fd;
	uint64_t since_ns;
};

static void leave_list(struct server *s, struct guest *g)
{
	if (!g->at)
		return;
	*g->at = g->next;
	if (g->next)
		g->next->at = g->at;
	else
		s->guests_end = g->at;
	g->at = NULL;
	s->nr_guests--;
}

static void guests_drop(struct server *s, struct guest *g)
{
	shutdown(g->fd, SHUT_RDWR);
	leave_list(s, g);
}

static unsigned most_guests(const struct server *s)
{
	unsigned share = s->connection_limit / 4;

	return share < GUESTS_MAX ? share : GUESTS_MAX;
}

static void enter_list(struct server *s, struct guest *g)
{
	g->at = s->guests_end ? s->guests_end : &s->guests;
	*g->at = g;
	s->guests_end = &g->next;
	if (++s->nr_guests > most_guests(s))
		guests_drop(s, s->guests);
}

static void guests_begin(struct server *s, struct MHD_Connection *c, void **context)
{
	const union MHD_ConnectionInfo *info = libmicrohttpd.MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct guest *g = info ? calloc(1, sizeof(*g)) : NULL;

	*context = g;
	if (!g) { /* a connection that cannot be tracked is refused */
		if (info)
			shutdown(info->connect_fd, SHUT_RDWR);
		return;
	}
	g->fd = info->connect_fd;
	g->since_ns = clock_now_ns();
	pthread_mutex_lock(&s->lock);
	enter_list(s, g);
	pthread_mutex_unlock(&s->lock);
}

void guests_notify(void *ctx, struct MHD_Connection *c, void **context,
		   enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		guests_begin(s, c, context);
	} else if (*context) {
		pthread_mutex_lock(&s->lock);
		leave_list(s, *context);
		pthread_mutex_unlock(&s->lock);
		free(*context);
		*context = NULL;
	}
}

void guest_has_secret(struct server *s, struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info = libmicrohttpd.MHD_get_connection_info(
		c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	if (!info || !info->socket_context)
		return;
	pthread_mutex_lock(&s->lock);
	leave_list(s, info->socket_context);
	pthread_mutex_unlock(&s->lock);
}

void guests_sweep(struct server *s)
{
	uint64_t now = clock_now_ns();

	pthread_mutex_lock(&s->lock);
	while (s->guests && now - s->guests->since_ns >= GUEST_NS)
		guests_drop(s, s->guests);
	pthread_mutex_unlock(&s->lock);
}

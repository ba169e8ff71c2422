/* SPDX-License-Identifier: MIT */
/* server_without.c - stubs for a build without libmicrohttpd. */
#include "serve/server.h"

#include <errno.h>
#include <stddef.h>

struct server *server_start(const struct listener *l, struct feed *f, struct err *err)
{
	(void)l;
	(void)f;
	err_set(err, -ENOTSUP, "this corotracer was built without libmicrohttpd, and cannot serve");
	err_hint(err, "'corotracer html' writes the page to a file; or install libmicrohttpd-dev, "
		      "and build again");
	return NULL;
}

void server_ticked(struct server *s)
{
	(void)s;
}

void server_beat(struct server *s)
{
	(void)s;
}

void server_sweep(struct server *s)
{
	(void)s;
}

bool server_was_visited(struct server *s)
{
	(void)s;
	return false;
}

void server_stop(struct server *s)
{
	(void)s;
}

const char *server_library(void)
{
	return NULL;
}

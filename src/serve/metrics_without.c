/* SPDX-License-Identifier: MIT */
/* metrics_without.c - stubs for a build without libmicrohttpd. */
#include "serve/metrics_server.h"

#include <errno.h>
#include <stddef.h>

struct metrics_server *metrics_server_start(const struct listener *l, struct metrics *m,
					    struct err *err)
{
	(void)l;
	(void)m;
	err_set(err, -ENOTSUP, "this corotracer was built without libmicrohttpd, and cannot serve");
	err_hint(err, "install libmicrohttpd-dev, and build again");
	return NULL;
}

void metrics_server_stop(struct metrics_server *s)
{
	(void)s;
}

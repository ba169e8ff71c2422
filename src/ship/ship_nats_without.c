/* SPDX-License-Identifier: MIT */
/* ship_nats_without.c - replaces ship_nats.c in a build without libnats. */
#include <errno.h>

#include "ship/ship_transport.h"

struct ship_transport *ship_nats_open(const char *rest, struct err *err)
{
	(void)rest;
	err_set(err, -ENOSYS, "cannot ship to nats: this corotracer was built without libnats");
	err_hint(err, "install libnats-dev, and build again");
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/* loader_transport.h - ship straight into ClickHouse: a receiver of blocks with the loader inside.
 */
#ifndef FLEET_LOADER_TRANSPORT_H
#define FLEET_LOADER_TRANSPORT_H

#include "ship/ship_transport.h"

/*
 * @state_dir: has a directory per run, from which a shipper that was killed goes on; removed when
 * the run is complete.  NULL: nothing is kept.  A server that is away is not an error.
 */
struct ship_transport *loader_transport_open(const char *url, const char *state_dir,
					     struct err *err);

#endif

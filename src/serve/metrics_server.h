/* SPDX-License-Identifier: MIT */
/*
 * metrics_server.h - serve metrics over HTTP, for Prometheus.
 *
 * GET /metrics   as OpenMetrics if the client accepts it, otherwise in the text format 0.0.4; with
 *                gzip if accepted
 *
 * The listener has no secret: every client that can reach the port can read the metrics, which
 * contain names of the program's source files and functions.  On a loopback address the Host header
 * must be a loopback name, so that a page of another site in a browser cannot read them.
 */
#ifndef SERVE_METRICS_SERVER_H
#define SERVE_METRICS_SERVER_H

#include "serve/metrics.h"
#include "serve/server_listen.h"

struct metrics_server;

/* NULL with a message in @err.  Call with signals blocked: the server thread inherits the mask. */
struct metrics_server *metrics_server_start(const struct listener *l, struct metrics *m,
					    struct err *err);

/* Accepts NULL. */
void metrics_server_stop(struct metrics_server *s);

/* True if @accept, the value of the header or NULL, prefers OpenMetrics to plain text. */
bool metrics_wants_openmetrics(const char *accept);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * server_listen.h - where the page is served: an address, a port, and a secret.
 *
 * The secret is part of every URL, so that other users of the machine, and pages of other sites in
 * the user's browser, cannot request data.  The Host header is checked for the same reason: a site
 * can make its own name resolve to this machine (DNS rebinding), but cannot make the browser send
 * another name.
 */
#ifndef SERVE_SERVER_LISTEN_H
#define SERVE_SERVER_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SERVER_TOKEN_BYTES ((size_t)16)
#define SERVER_TOKEN_SIZE  (2 * SERVER_TOKEN_BYTES) /* in hexadecimal */

struct listener {
	int fd; /* -1: closed */
	uint16_t port;
	bool is_loopback;
	bool is_any;   /* bound to all addresses of the machine */
	char name[64]; /* as in a URL: "127.0.0.1", "[::1]" */
	char token[SERVER_TOKEN_SIZE + 1];
	char url[192];
};

/* @address: numeric; NULL: 127.0.0.1.  @port: 0: any free port.  Listens on return. */
int listener_open(struct listener *l, const char *address, uint16_t port, struct err *err);
void listener_close(struct listener *l);

/* True if @host is the host of the URL given to the user, or an equivalent one. */
bool listener_is_called(const struct listener *l, const char *host);

/* Compares in constant time. */
bool listener_token_is(const struct listener *l, const char *token);

#endif

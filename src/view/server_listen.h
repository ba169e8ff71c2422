/* SPDX-License-Identifier: MIT */
/*
 * server_listen.h - where the page is served: an address, a port, and a secret.
 *
 * The secret is part of every URL, so that other users of the machine, and pages of other sites
 * in the user's browser, cannot ask.  The name in the Host header is looked at for the same
 * reason: a site may have its own name point to this machine, but not make the browser say another.
 */
#ifndef VIEW_SERVER_LISTEN_H
#define VIEW_SERVER_LISTEN_H

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
	bool is_any;   /* all addresses of this machine */
	char name[64]; /* as a URL has it: "127.0.0.1", "[::1]" */
	char token[SERVER_TOKEN_SIZE + 1];
	char url[192];
};

/* @address: in numbers, NULL: 127.0.0.1; @port: 0: any that is free.  Listens from now on. */
int listener_open(struct listener *l, const char *address, uint16_t port, struct err *err);
void listener_close(struct listener *l);

/* Is @host what a browser says who was given our URL, or one that means the same? */
bool listener_is_called(const struct listener *l, const char *host);

/* In a time that does not depend on how much of it is right. */
bool listener_token_is(const struct listener *l, const char *token);

#endif

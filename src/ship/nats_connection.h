/* SPDX-License-Identifier: MIT */
/* nats_connection.h - a connection to a NATS server with the stream of blocks. */
#ifndef SHIP_NATS_CONNECTION_H
#define SHIP_NATS_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ship/libnats_loader.h"

#define NATS_STREAM      "COROTRACER"
#define NATS_SUBJECTS    "corotracer.blocks.>"
#define NATS_SUBJECT     "corotracer.blocks"
#define NATS_SERVERS_MAX 16
#define NATS_URL_SIZE    512

/* Where to connect: from a URL, without the scheme. */
struct nats_address {
	char servers[NATS_SERVERS_MAX][NATS_URL_SIZE]; /* nats://host:port */
	int nr_servers;
	char user[256], password[256]; /* empty: none */
	char name[NATS_URL_SIZE];      /* for messages: without the password */
};

/* @rest is [USER[:PASSWORD]@]HOST[:PORT][,HOST...]; without a password, that of NATS_PASSWORD. */
int nats_address_parse(struct nats_address *a, const char *rest, struct err *err);

/* All zero: not connected. */
struct nats_connection {
	natsConnection *nc;
	natsSubscription *replies; /* acknowledgements, at inbox.> */
	natsInbox *inbox;
	size_t max_payload;
	bool is_limited; /* the stream may refuse a block, and accept a smaller one behind it */
};

/*
 * Connect and make sure that the stream exists: it is created if it is missing.  0, or a negative
 * errno with a message and a hint.
 */
int nats_connection_open(struct nats_connection *c, const struct nats_address *a, struct err *err);
void nats_connection_close(struct nats_connection *c);

/* Record why a call of the library failed. */
int nats_failed(struct err *err, natsStatus status, const char *what, const char *name);

#endif

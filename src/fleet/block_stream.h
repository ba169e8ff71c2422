/* SPDX-License-Identifier: MIT */
/*
 * block_stream.h - the envelopes of a NATS stream, in the order of the stream.
 *
 * A message stays in the stream until it is acknowledged.  After a restart or a lost connection
 * everything that was not acknowledged comes again, from the first one on: the consumer is removed
 * and created, because one that exists would deliver newer messages before those it waits for.
 */
#ifndef FLEET_BLOCK_STREAM_H
#define FLEET_BLOCK_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct block_stream;

struct stream_message {
	const void *data; /* valid until it is acknowledged */
	size_t size;
	uint64_t id;     /* counts the messages of this connection from 0 */
	int64_t arrived; /* wall clock of the server when it got the message, ns */
};

/* @rest is what follows "nats://".  NULL with a message in @err. */
struct block_stream *block_stream_open(const char *rest, struct err *err);

/* 1: a message; 0: none came in @ms milliseconds; a negative errno: the connection is lost. */
int block_stream_next(struct block_stream *s, int ms, struct stream_message *m, struct err *err);

/* Acknowledge the messages before @id, and wait until the server has heard of it. */
int block_stream_ack(struct block_stream *s, uint64_t id, struct err *err);

void block_stream_close(struct block_stream *s); /* accepts NULL */

#endif

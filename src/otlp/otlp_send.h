/* SPDX-License-Identifier: MIT */
/*
 * otlp_send.h - send requests to a receiver of OTLP over HTTP.
 *
 * A receiver that is busy (429, 502, 503, 504) or cannot be reached is tried again, after the time
 * that it asks for (Retry-After) or after 1, 2, 4 ... seconds, for some time in total.  A request
 * that was sent completely and not answered is sent again, too, and counted: the receiver may have
 * it twice.  It is not sent again if memory ran out here, nor if an answer had begun.
 */
#ifndef OTLP_OTLP_SEND_H
#define OTLP_OTLP_SEND_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define OTLP_PATIENCE_NS UINT64_C(30000000000)

struct otlp_sender;

/* What the receiver said. */
struct otlp_sent {
	uint64_t requests, retries;
	uint64_t bytes;          /* sent, compressed */
	uint64_t rejected;       /* spans that it did not accept */
	uint64_t maybe_twice;    /* requests that were sent again, and may have arrived before */
	uint64_t unread_answers; /* accepted requests: what it rejected of them is not known */
	char message[256];       /* why; empty: none */
};

/*
 * @url: "http://HOST:4318"; "/v1/traces" is appended unless it is there.  Headers of the
 * environment variable OTEL_EXPORTER_OTLP_HEADERS ("key=value,key=value") are sent.  NULL with a
 * message in @err.
 */
struct otlp_sender *otlp_sender_new(const char *url, struct err *err);

/* Accepts NULL. */
void otlp_sender_free(struct otlp_sender *s);

/* One request.  Adds to @sent.  0 or a negative errno with a message in @err. */
int otlp_send(struct otlp_sender *s, const void *body, size_t size, struct otlp_sent *sent,
	      struct err *err);

/*
 * Parse an ExportTraceServiceResponse: adds to sent->rejected, and sets the message if there is
 * one. Unknown and damaged parts are ignored.
 */
void otlp_parse_answer(const uint8_t *data, size_t size, struct otlp_sent *sent);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ship_nats.c - the transport nats://: publish envelopes to a JetStream stream.
 *
 * Each message has an identity (Nats-Msg-Id: RUN/NUMBER/PART), by which the server recognizes one
 * that is sent again, and a reply subject, where its acknowledgement arrives.  Several are on
 * their way at a time.  The library's own reconnecting is off: after any failure the connection is
 * opened again, and the caller sends what was not acknowledged.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "base/monotonic.h"
#include "ship/nats_connection.h"
#include "ship/ship_envelope.h"
#include "ship/ship_transport.h"

#define NATS_WINDOW     64
#define NATS_BYTES_MAX  ((size_t)16 << 20) /* on their way at a time */
#define NATS_PART_SIZE  ((size_t)900 * 1024)
#define NATS_PART_LEAST ((size_t)16 * 1024)
/* The server has to answer within this time, or the connection is opened again. */
#define NATS_ACK_NS (10 * NS_PER_SEC)

/* A block on its way. */
struct nats_flight {
	uint64_t number;
	uint32_t parts_left;
	size_t bytes;
};

struct ship_nats {
	struct ship_transport transport; /* first member: cast to and from */
	struct nats_address address;
	struct nats_connection connection;
	struct nats_flight flights[NATS_WINDOW];
	unsigned nr_flights;
	bool is_strict;    /* a block was refused: one at a time, so that they stay in order */
	size_t bytes;      /* of them */
	uint64_t round;    /* acknowledgements of earlier rounds are ignored */
	uint64_t moved_ns; /* when something was sent first, or acknowledged last */
	struct bytes envelope;
};

static struct ship_nats *ship_nats_of(struct ship_transport *t)
{
	return (struct ship_nats *)t;
}

/* Everything that is on its way has to be sent again. */
static void ship_nats_forget(struct ship_nats *n)
{
	n->nr_flights = 0;
	n->bytes = 0;
	n->round++;
}

static void ship_nats_disconnect(struct ship_nats *n)
{
	ship_nats_forget(n);
	if (n->connection.nc)
		nats_connection_close(&n->connection);
}

static bool ship_nats_is_connected(const struct ship_nats *n)
{
	return n->connection.nc &&
	       libnats.natsConnection_Status(n->connection.nc) == NATS_CONN_STATUS_CONNECTED;
}

static int ship_nats_connect(struct ship_nats *n, struct err *err)
{
	if (ship_nats_is_connected(n))
		return 0;
	/* The caller hears of it before it sends more. */
	if (n->nr_flights) {
		ship_nats_disconnect(n);
		return err_set(err, -ENOTCONN, "the connection to %s was lost", n->address.name);
	}
	ship_nats_disconnect(n);
	return nats_connection_open(&n->connection, &n->address, err);
}

/* ---- send ------------------------------------------------------------------------- */

static natsStatus ship_nats_publish(struct ship_nats *n, const struct ship_parcel *p, uint32_t part)
{
	char service[SHIP_LABEL_SIZE], host[SHIP_LABEL_SIZE];
	char subject[2 * SHIP_LABEL_SIZE + 32], reply[NATS_URL_SIZE], id[128];
	natsMsg *msg = NULL;
	natsStatus s;

	ship_plain_name(p->labels->service, service, sizeof(service));
	ship_plain_name(p->labels->host, host, sizeof(host));
	snprintf(subject, sizeof(subject), NATS_SUBJECT ".%s.%s", service, host);
	snprintf(reply, sizeof(reply), "%s.%" PRIu64 ".%" PRIu64 ".%" PRIu32, n->connection.inbox,
		 n->round, p->number, part);
	snprintf(id, sizeof(id), "%s/%" PRIu64 "/%" PRIu32, p->labels->run, p->number, part);
	s = libnats.natsMsg_Create(&msg, subject, reply, (const char *)n->envelope.data,
				   (int)n->envelope.size);
	if (s == NATS_OK)
		s = libnats.natsMsgHeader_Set(msg, "Nats-Msg-Id", id);
	if (s == NATS_OK)
		s = libnats.natsConnection_PublishMsg(n->connection.nc, msg);
	if (msg)
		libnats.natsMsg_Destroy(msg);
	return s;
}

static size_t ship_nats_part_size(const struct ship_nats *n)
{
	size_t most = n->connection.max_payload;

	/* The envelope's head and labels, and the header. */
	most = most > SHIP_LABELS_MAX + 1024 ? most - SHIP_LABELS_MAX - 1024 : 0;
	if (most > NATS_PART_SIZE)
		return NATS_PART_SIZE;
	return most < NATS_PART_LEAST ? NATS_PART_LEAST : most;
}

static int ship_nats_send_parts(struct ship_nats *n, const struct ship_parcel *p, uint32_t parts,
				size_t part_size, struct err *err)
{
	struct ship_envelope e = {
		.number = p->number,
		.parts = parts,
		.labels = p->labels_text,
		.labels_size = p->labels_size,
	};

	for (e.part = 0; e.part < parts; e.part++) {
		size_t from = e.part * part_size;
		natsStatus s;
		int rc;

		e.block = p->block ? p->block + from : NULL;
		e.block_size = p->size - from < part_size ? p->size - from : part_size;
		bytes_clear(&n->envelope);
		rc = ship_envelope_encode(&n->envelope, &e);
		if (rc < 0)
			return err_set(err, rc, "cannot make the envelope of block %" PRIu64 ": %s",
				       p->number, strerror(-rc));
		s = ship_nats_publish(n, p, e.part);
		if (s != NATS_OK)
			return nats_failed(err, s, "send a block to", n->address.name);
	}
	return 0;
}

static int ship_nats_send(struct ship_transport *t, const struct ship_parcel *p, struct err *err)
{
	struct ship_nats *n = ship_nats_of(t);
	size_t part_size;
	uint32_t parts;

	if (n->nr_flights >= (n->is_strict || n->connection.is_limited ? 1 : NATS_WINDOW) ||
	    (n->nr_flights && n->bytes + p->size > NATS_BYTES_MAX))
		return err_set(err, -EAGAIN, "enough blocks are on their way");
	if (ship_nats_connect(n, err) < 0)
		return err->code;
	part_size = ship_nats_part_size(n);
	parts = p->size ? (uint32_t)((p->size + part_size - 1) / part_size) : 1;
	if (ship_nats_send_parts(n, p, parts, part_size, err) < 0) {
		ship_nats_disconnect(n);
		return err->code;
	}
	if (!n->nr_flights)
		n->moved_ns = clock_now_ns();
	n->flights[n->nr_flights++] = (struct nats_flight){ p->number, parts, p->size };
	n->bytes += p->size;
	return 0;
}

/* ---- acknowledgements --------------------------------------------------------------- */

static void ship_nats_arrived(struct ship_nats *n, uint64_t number, ship_acked_fn acked, void *ctx)
{
	unsigned i;

	for (i = 0; i < n->nr_flights; i++) {
		struct nats_flight *f = &n->flights[i];

		if (f->number != number)
			continue;
		if (--f->parts_left)
			return;
		n->bytes -= f->bytes;
		*f = n->flights[--n->nr_flights];
		acked(ctx, number);
		return;
	}
}

/* The server's answer: {"stream":...} or {"error":{"description":...}}. */
static int ship_nats_check(const struct ship_nats *n, natsMsg *msg, struct err *err)
{
	const char *data = libnats.natsMsg_GetData(msg), *why;
	int size = libnats.natsMsg_GetDataLength(msg), rc;
	json_t *answer = json_parse(data ? data : "", size > 0 ? (size_t)size : 0, 0, NULL, &rc);
	const json_t *error = json_object_get(answer, "error");

	rc = 0;
	if (!json_is_object(answer)) {
		rc = err_set(err, -ENOTSUP, "cannot ship to %s: no stream takes the blocks",
			     n->address.name);
		err_hint(err, "stream " NATS_STREAM " was removed; it is created again");
	} else if (error) {
		why = json_string_value(json_object_get(error, "description"));
		rc = err_set(err, -ENOSPC, "%s refuses blocks: %s", n->address.name,
			     why ? why : "no reason given");
		err_hint(err, "blocks stay in the spool; make the stream larger, or load it");
	}
	json_decref(answer);
	return rc;
}

/* False: an acknowledgement of an earlier round. */
static bool ship_nats_parse_reply(const struct ship_nats *n, natsMsg *msg, uint64_t *number)
{
	const char *subject = libnats.natsMsg_GetSubject(msg);
	size_t inbox = strlen(n->connection.inbox);
	uint64_t round;

	return subject && strlen(subject) > inbox + 1 &&
	       sscanf(subject + inbox + 1, "%" SCNu64 ".%" SCNu64, &round, number) == 2 &&
	       round == n->round;
}

static int ship_nats_take(struct ship_nats *n, natsMsg *msg, ship_acked_fn acked, void *ctx,
			  struct err *err)
{
	uint64_t number;
	int rc = 0;

	if (ship_nats_parse_reply(n, msg, &number)) {
		rc = ship_nats_check(n, msg, err);
		if (rc == 0) {
			n->moved_ns = clock_now_ns();
			ship_nats_arrived(n, number, acked, ctx);
		}
	}
	libnats.natsMsg_Destroy(msg);
	return rc;
}

static int ship_nats_silent(struct ship_nats *n, struct err *err)
{
	if (!ship_nats_is_connected(n))
		return err_set(err, -ENOTCONN, "the connection to %s was lost", n->address.name);
	if (clock_now_ns() - n->moved_ns < NATS_ACK_NS)
		return 0;
	return err_set(err, -ETIMEDOUT, "%s has not answered for %u s", n->address.name,
		       (unsigned)(NATS_ACK_NS / NS_PER_SEC));
}

/* One acknowledgement, waiting up to @ms.  1; 0: none; or a negative errno. */
static int ship_nats_next(struct ship_nats *n, int ms, ship_acked_fn acked, void *ctx,
			  struct err *err)
{
	natsMsg *msg = NULL;
	natsStatus s = libnats.natsSubscription_NextMsg(&msg, n->connection.replies, ms);
	int rc;

	if (s == NATS_OK && msg) {
		rc = ship_nats_take(n, msg, acked, ctx, err);
		return rc < 0 ? rc : 1;
	}
	if (s == NATS_NO_RESPONDERS) {
		err_set(err, -ENOTSUP, "cannot ship to %s: no stream takes the blocks",
			n->address.name);
		err_hint(err, "was stream " NATS_STREAM " removed?  It is created again");
		return err->code;
	}
	if (s != NATS_TIMEOUT)
		return nats_failed(err, s, "hear from", n->address.name);
	return ship_nats_silent(n, err);
}

static int ship_nats_poll(struct ship_transport *t, int ms, ship_acked_fn acked, void *ctx,
			  struct err *err)
{
	struct ship_nats *n = ship_nats_of(t);
	int rc = 0;

	if (n->nr_flights && !n->connection.nc)
		rc = err_set(err, -ENOTCONN, "the connection to %s was lost", n->address.name);
	/* Wait for the first only: the caller may have more to send. */
	while (rc >= 0 && n->nr_flights) {
		rc = ship_nats_next(n, ms, acked, ctx, err);
		if (rc == 0)
			return 0;
		ms = 0;
	}
	if (rc >= 0)
		return 0;
	n->is_strict |= rc == -ENOSPC;
	if (rc == -ENOSPC)
		ship_nats_forget(n);
	else
		ship_nats_disconnect(n);
	return rc;
}

/* ---- open and close ----------------------------------------------------------------- */

static void ship_nats_close(struct ship_transport *t)
{
	struct ship_nats *n = ship_nats_of(t);

	ship_nats_disconnect(n);
	bytes_release(&n->envelope);
	free(n);
}

static const struct ship_transport_ops ship_nats_ops = {
	.send = ship_nats_send,
	.poll = ship_nats_poll,
	.close = ship_nats_close,
};

/* Does not connect: the caller may fork, and the library has threads. */
struct ship_transport *ship_nats_open(const char *rest, struct err *err)
{
	struct ship_nats *n = calloc(1, sizeof(*n));

	if (!n) {
		err_set(err, -ENOMEM, "no memory to ship to nats");
		return NULL;
	}
	if (nats_address_parse(&n->address, rest, err) < 0 || libnats_load(err) < 0) {
		free(n);
		return NULL;
	}
	n->transport.ops = &ship_nats_ops;
	n->transport.window = NATS_WINDOW;
	snprintf(n->transport.name, sizeof(n->transport.name), "%s", n->address.name);
	return &n->transport;
}

/* SPDX-License-Identifier: MIT */
/*
 * ship_transport.h - deliver blocks to another place, and learn which of them arrived.
 *
 * A transport may block for a moment: it runs in a process of its own, which neither the program
 * nor the collector waits for.  It keeps no block: one that was not acknowledged is sent again,
 * with the same number, and the receiver drops what it has.
 */
#ifndef SHIP_TRANSPORT_H
#define SHIP_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "ship/ship_labels.h"

#define SHIP_NAME_SIZE 512

struct ship_transport;

struct ship_parcel {
	const struct ship_labels *labels;
	const char *labels_text; /* the same as JSON */
	size_t labels_size;
	uint64_t number;
	const uint8_t *block; /* NULL: the end of the run */
	size_t size;
};

/* The block @number has arrived. */
typedef void (*ship_acked_fn)(void *ctx, uint64_t number);

struct ship_transport_ops {
	/*
	 * Begin to deliver.  0: poll() will report its arrival.  -EAGAIN: too much is on its way.
	 * Another negative errno: the receiver is away; all that has not arrived must be sent
	 * again, later.
	 */
	int (*send)(struct ship_transport *t, const struct ship_parcel *parcel, struct err *err);
	/*
	 * Wait up to @ms milliseconds for arrivals, if any are due.  0; a negative errno: all that
	 * has not arrived must be sent again.
	 */
	int (*poll)(struct ship_transport *t, int ms, ship_acked_fn acked, void *ctx,
		    struct err *err);
	void (*close)(struct ship_transport *t);
};

struct ship_transport {
	const struct ship_transport_ops *ops;
	unsigned window;           /* most blocks that may wait for their acknowledgement */
	char name[SHIP_NAME_SIZE]; /* URL without password */
};

/*
 * @url is file:DIR or nats://...; a receiver that is away is not an error.  NULL with a message in
 * @err: the URL cannot be used.
 */
struct ship_transport *ship_transport_open(const char *url, struct err *err);

static inline void ship_transport_close(struct ship_transport *t)
{
	if (t)
		t->ops->close(t);
}

/* The transports.  @rest is what follows "file:" or "nats://". */
struct ship_transport *ship_file_open(const char *rest, struct err *err);
struct ship_transport *ship_nats_open(const char *rest, struct err *err);

/* Copy @text with every character but letters, digits, _ and - replaced by _; never empty. */
void ship_plain_name(const char *text, char *to, size_t size);

#endif

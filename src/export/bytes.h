/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - a buffer that rows are made in, and a spool for rows whose turn comes later.
 *
 * A connection loads one table at a time, but a trace tells of all at once: what is not of
 * the first table waits in a file without a name, so memory does not grow.
 */
#ifndef EXPORT_BYTES_H
#define EXPORT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* All zero is empty. */
struct bytes {
	char *data;
	size_t used, size;
};

/* Where @size bytes more may be written (and FMT_SLACK behind them); NULL without memory. */
char *bytes_room(struct bytes *b, size_t size);

/* False without memory. */
bool bytes_put(struct bytes *b, const void *data, size_t size);

void bytes_release(struct bytes *b);

/* All zero is an empty one. */
struct spool {
	int fd; /* if there is one */
	bool has_file;
	struct bytes bytes; /* not in the file yet */
	uint64_t size;      /* of the file */
	uint64_t at;        /* while it is read */
};

/* What was put into s->bytes goes to the file if it is much.  Call it after each row. */
int spool_settle(struct spool *s, struct err *err);

bool spool_is_empty(const struct spool *s);

/* From the beginning: the next bytes, at most @size.  0 at the end, or a negative errno. */
int64_t spool_read(struct spool *s, void *data, size_t size);

void spool_release(struct spool *s);

#endif

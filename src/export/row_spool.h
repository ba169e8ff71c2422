/* SPDX-License-Identifier: MIT */
/*
 * row_spool.h - rows whose turn comes later.
 *
 * A connection loads one table at a time, but a trace tells of all at once: what is not of
 * the first table waits in a file without a name, so memory does not grow.
 */
#ifndef EXPORT_ROW_SPOOL_H
#define EXPORT_ROW_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* All zero is an empty one. */
struct row_spool {
	int fd; /* if there is one */
	bool has_file;
	struct bytes bytes; /* not in the file yet */
	uint64_t size;      /* of the file */
	uint64_t at;        /* while it is read */
};

/* What was put into s->bytes goes to the file if it is much.  Call it after each row. */
int row_spool_settle(struct row_spool *s, struct err *err);

bool row_spool_is_empty(const struct row_spool *s);

/* From the beginning: the next bytes, at most @size.  0 at the end, or a negative errno. */
int64_t row_spool_read(struct row_spool *s, void *data, size_t size);

void row_spool_release(struct row_spool *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * row_spool.h - temporary storage for rows that are loaded later.
 *
 * A connection loads one table at a time, but a trace has rows of all tables mixed: rows of the
 * other tables are stored in an unnamed file, so that memory does not grow.
 */
#ifndef EXPORT_ROW_SPOOL_H
#define EXPORT_ROW_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

/* All zero is empty. */
struct row_spool {
	int fd; /* valid if has_file */
	bool has_file;
	struct bytes bytes; /* not in the file yet */
	uint64_t size;      /* of the file */
	uint64_t at;        /* read position */
};

/* Writes s->bytes to the file once there are enough of them.  Call it after each row. */
int row_spool_settle(struct row_spool *s, struct err *err);

bool row_spool_is_empty(const struct row_spool *s);

/* Reads from the beginning on, at most @size bytes.  Returns 0 at the end, or a negative errno. */
int64_t row_spool_read(struct row_spool *s, void *data, size_t size);

void row_spool_release(struct row_spool *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * column_encoder.h - tables stored by column, as in docs/view-format.md.
 *
 *	struct view_columns c;
 *	size_t at;
 *
 *	columns_begin(&c);
 *	jw_field_u64(&c.header, "width", 1024);
 *	at = columns_add(&c, "nr", COLUMN_U32, rows);
 *	columns_set(&c, at, row, 7);
 *	columns_end(&c, rows, out);
 */
#ifndef VIEW_COLUMN_ENCODER_H
#define VIEW_COLUMN_ENCODER_H

#include "base/json_writer.h"
#include "base/bytes.h"

enum view_column_type { COLUMN_U8, COLUMN_U16, COLUMN_U32, COLUMN_F64, COLUMN_V, COLUMN_DV };
#define COLUMNS_MAX 48

struct view_column {
	const char *name;
	enum view_column_type type;
	size_t offset, bytes, count;
};

struct view_columns {
	struct json_writer header; /* keys may be added until columns_end() */
	struct bytes body;
	struct view_column all[COLUMNS_MAX];
	size_t nr;
};

void columns_begin(struct view_columns *c);

/* Add a zeroed column of fixed width; returns its number. */
size_t columns_add(struct view_columns *c, const char *name, enum view_column_type type,
		   size_t count);
void columns_set(struct view_columns *c, size_t column, size_t row, double value);

/* Add a column from its bytes: encoded for COLUMN_V and COLUMN_DV, as in memory for other types. */
void columns_add_bytes(struct view_columns *c, const char *name, enum view_column_type type,
		       const struct bytes *bytes, size_t count);

/* Append everything to @out and release @c. 0 or -ENOMEM. */
int columns_end(struct view_columns *c, size_t rows, struct bytes *out);

#endif

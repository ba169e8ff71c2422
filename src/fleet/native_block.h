/* SPDX-License-Identifier: MIT */
/*
 * native_block.h - rows for one INSERT, column by column, in ClickHouse's format "Native".
 *
 * The server takes such a block whole or not at all: one that was cut off, because its sender was
 * killed, is an error.  Labels of a run (service, host, ...) are sent once, and one number per row.
 */
#ifndef FLEET_NATIVE_BLOCK_H
#define FLEET_NATIVE_BLOCK_H

#include <stdbool.h>
#include <string.h>

#include "base/bytes.h"

#define NATIVE_COLUMNS_MAX 32u
#define NATIVE_LABELS_MAX  65536u

/* A column of a table, as the server describes it. */
struct native_column {
	const char *name, *type;
	unsigned size; /* bytes per row; 0: a label or a text */
	/* A label: the offset of its text in an entry of the labels; with size 0. */
	bool is_label;
	size_t offset;
};

struct native_table {
	const char *name;
	const struct native_column *columns;
	unsigned nr_columns;
};

struct native_block {
	const struct native_table *table;
	unsigned char *data[NATIVE_COLUMNS_MAX]; /* of columns with a size */
	struct bytes texts[NATIVE_COLUMNS_MAX];  /* of other columns that are no labels */
	struct bytes ends[NATIVE_COLUMNS_MAX];   /* of arrays: where that of each row ends, u64 */
	uint16_t *labels;                        /* per row: number of an entry */
	size_t nr, room;                         /* rows */
};

/* All zero but for its table is an empty block.  -ENOMEM, or 0: there is a new row, nr - 1. */
int native_block_add(struct native_block *b, unsigned label);

/* Set a member of the new row.  Every column with a size must be set. */
static inline void native_put_u64(struct native_block *b, unsigned column, uint64_t value)
{
	memcpy(b->data[column] + (b->nr - 1) * sizeof(value), &value, sizeof(value));
}

static inline void native_put_u32(struct native_block *b, unsigned column, uint32_t value)
{
	memcpy(b->data[column] + (b->nr - 1) * sizeof(value), &value, sizeof(value));
}

static inline void native_put_u8(struct native_block *b, unsigned column, unsigned value)
{
	b->data[column][b->nr - 1] = (unsigned char)value;
}

/* Failures are kept in the buffer's error, which native_block_pieces() returns. */
void native_put_text(struct native_block *b, unsigned column, const char *text, size_t size);

/* The elements of the row's array, of @size bytes each, are in the texts of the column. */
void native_array_end(struct native_block *b, unsigned column, size_t size);

static inline uint64_t native_u64_at(const struct native_block *b, unsigned column, size_t row)
{
	uint64_t value;

	memcpy(&value, b->data[column] + row * sizeof(value), sizeof(value));
	return value;
}

/* What is sent: heads and columns in turn. */
struct native_pieces {
	struct bytes own[2 * NATIVE_COLUMNS_MAX];
	const struct bytes *list[3 * NATIVE_COLUMNS_MAX];
	struct bytes labels;
	size_t nr;
};

/*
 * The pieces of the block, valid until the block changes.  @entries: pointers to the structs that
 * the labels are members of.  0 or -ENOMEM; release them in both cases.
 */
int native_block_pieces(const struct native_block *b, const void *const *entries, size_t nr_entries,
			struct native_pieces *p);
void native_pieces_release(struct native_pieces *p);

/* Empty, with its memory kept. */
void native_block_clear(struct native_block *b);
void native_block_release(struct native_block *b);

#endif

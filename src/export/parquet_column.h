/* SPDX-License-Identifier: MIT */
/*
 * parquet_column.h - the values of one column of a row group, and their pages.
 *
 * A page of data has all values of the column.  Numbers that repeat are indexes into a dictionary
 * page; others are differences (DELTA_BINARY_PACKED).  Text is a dictionary as long as a text is
 * used twice on average.  Every page is compressed with zstd and has a checksum.
 */
#ifndef EXPORT_PARQUET_COLUMN_H
#define EXPORT_PARQUET_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zstd.h>

#include "base/bytes.h"
#include "base/strtab.h"

enum parquet_type {
	PARQUET_U64,
	PARQUET_I64,
	PARQUET_TIME, /* int64_t, nanoseconds since 1970 */
	PARQUET_BOOL,
	PARQUET_TEXT, /* UTF-8 */
};

struct parquet_field {
	const char *name;
	enum parquet_type type;
	bool is_required; /* never null */
	bool is_rising;   /* a time or a number that rarely repeats: no dictionary is tried */
};

#define PARQUET_CONSTANTS 61

struct parquet_column {
	struct parquet_field field;
	uint64_t *values; /* without nulls; of a text, its number in texts */
	size_t nr;
	unsigned char *is_set; /* per row */
	struct strtab texts;
	size_t text_bytes; /* of the different texts */
	/* Numbers of constant texts, found by their addresses. */
	const char *constants[PARQUET_CONSTANTS];
	uint32_t constant_numbers[PARQUET_CONSTANTS];
};

/* What the footer says about the column in one row group. */
struct parquet_chunk {
	uint64_t rows, nulls;
	uint64_t dictionary_offset; /* 0: it has no dictionary */
	uint64_t data_offset;
	uint64_t raw_size, stored_size; /* of its pages, with their headers */
	int encoding;                   /* enum parquet_encoding, of the values */
	bool has_range;
	unsigned char least[64], greatest[64];
	size_t least_size, greatest_size;
};

enum parquet_encoding {
	PARQUET_PLAIN = 0,
	PARQUET_RLE = 3,
	PARQUET_DELTA = 5,
	PARQUET_DICTIONARY = 8,
};

/* Buffers that columns share.  All zero is empty. */
struct parquet_scratch {
	ZSTD_CCtx *zstd;
	struct bytes raw;    /* a page */
	struct bytes pages;  /* of the chunk, as they are written */
	struct bytes values; /* of a number dictionary */
	uint32_t *indexes;   /* of the rows of a group: numbers in a dictionary, */
	uint32_t *levels;    /* and whether there is a value */
};

/*
 * Makes the pages of @c's rows in s->pages, which begin at @offset of the file, and describes them.
 * 0 or -ENOMEM.
 */
int parquet_column_pack(struct parquet_column *c, size_t rows, uint64_t offset,
			struct parquet_scratch *s, struct parquet_chunk *chunk);

/* Forgets the values; the memory stays. */
void parquet_column_clear(struct parquet_column *c, size_t rows);
void parquet_column_release(struct parquet_column *c);
void parquet_scratch_release(struct parquet_scratch *s);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * parquet_encode.h - the encodings of Parquet that the writer uses, from numbers to bytes.
 *
 * Each appends to a struct bytes; a failure (out of memory) is kept there.
 */
#ifndef EXPORT_PARQUET_ENCODE_H
#define EXPORT_PARQUET_ENCODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * RLE and bit-packed hybrid: runs of equal values once, others with @width bits each.  For levels
 * and for the indexes of a dictionary; every value is below 2^width, width is 1 to 32.
 */
void parquet_encode_hybrid(struct bytes *out, const uint32_t *values, size_t nr, unsigned width);

/* DELTA_BINARY_PACKED: the differences, with as many bits as 32 neighbours need.  @nr > 0. */
void parquet_encode_delta(struct bytes *out, const uint64_t *values, size_t nr);

/* PLAIN: 8 bytes each; of a text its size in 4 bytes, then the text; 1 bit for a boolean. */
void parquet_encode_plain(struct bytes *out, const uint64_t *values, size_t nr);
void parquet_encode_text(struct bytes *out, const char *text);
void parquet_encode_bits(struct bytes *out, const uint64_t *values, size_t nr);

/* The width of indexes below @nr, for parquet_encode_hybrid(). */
unsigned parquet_index_width(size_t nr);

#endif

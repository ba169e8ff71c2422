/* SPDX-License-Identifier: MIT */
/* parquet_column.c - the values of one column of a row group, and their pages. */
#include "export/parquet_column.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/u64map.h"
#include "export/parquet_encode.h"
#include "export/parquet_thrift.h"

#define LEVEL 3

enum page_type { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };

/* ---- one page -------------------------------------------------------------- */

static void page_put_head(struct bytes *out, enum page_type type, size_t nr, int encoding,
			  size_t raw_size, const void *stored, size_t stored_size)
{
	struct thrift t = { .out = out };

	thrift_begin(&t);
	thrift_put_i32(&t, 1, (int32_t)type);
	thrift_put_i32(&t, 2, (int32_t)raw_size);
	thrift_put_i32(&t, 3, (int32_t)stored_size);
	thrift_put_i32(&t, 4, (int32_t)crc32_z(0, stored, stored_size));
	thrift_begin_field(&t, type == PAGE_DATA ? 5 : 7);
	thrift_put_i32(&t, 1, (int32_t)nr);
	thrift_put_i32(&t, 2, encoding);
	if (type == PAGE_DATA) {
		thrift_put_i32(&t, 3, PARQUET_RLE); /* of levels */
		thrift_put_i32(&t, 4, PARQUET_RLE);
	}
	thrift_end(&t);
	thrift_end(&t);
}

/* Compresses s->raw and appends it to s->pages as a page of @nr values. */
static int page_put(struct parquet_scratch *s, enum page_type type, size_t nr, int encoding,
		    struct parquet_chunk *chunk)
{
	size_t before = s->pages.size, bound = ZSTD_compressBound(s->raw.size), size, head;
	struct bytes packed = { 0 };

	if (s->raw.error || !bytes_more(&packed, bound ? bound : 1))
		return -ENOMEM;
	size = ZSTD_compressCCtx(s->zstd, packed.data, bound, s->raw.data, s->raw.size, LEVEL);
	if (!ZSTD_isError(size)) {
		page_put_head(&s->pages, type, nr, encoding, s->raw.size, packed.data, size);
		head = s->pages.size - before;
		bytes_add(&s->pages, packed.data, size);
		chunk->raw_size += head + s->raw.size;
		chunk->stored_size += head + size;
	}
	bytes_release(&packed);
	return ZSTD_isError(size) || s->pages.error ? -ENOMEM : 0;
}

/* ---- levels ---------------------------------------------------------------- */

/* Whether each row has a value: 1 bit each, behind their size. */
static void column_put_levels(const struct parquet_column *c, size_t rows,
			      struct parquet_scratch *s)
{
	size_t at = s->raw.size, size, i;
	unsigned char *to;

	if (c->field.is_required || !bytes_more(&s->raw, 4))
		return;
	for (i = 0; i < rows; i++)
		s->levels[i] = c->is_set[i];
	parquet_encode_hybrid(&s->raw, s->levels, rows, 1);
	if (s->raw.error)
		return;
	size = s->raw.size - at - 4;
	to = s->raw.data + at;
	for (i = 0; i < 4; i++)
		to[i] = (unsigned char)(size >> 8 * i);
}

/* ---- dictionaries ---------------------------------------------------------- */

/* The different values of a column, and the index of each. */
struct number_index {
	struct u64map known; /* value to 1 + index */
	struct bytes *values;
	size_t nr;
	struct {
		uint64_t value;
		uint32_t next; /* 1 + index; 0: unused */
	} recent[256];
};

/* The index of @value, which is added if it is new; -ENOMEM. */
static int64_t number_index_of(struct number_index *n, uint64_t value)
{
	size_t slot = (value ^ value >> 8) % 256;
	uint64_t *at;

	if (n->recent[slot].next && n->recent[slot].value == value)
		return n->recent[slot].next - 1;
	at = u64map_at(&n->known, value);
	if (!at)
		return -ENOMEM;
	if (!*at) {
		bytes_add(n->values, &value, sizeof(value));
		*at = ++n->nr;
	}
	n->recent[slot].value = value;
	n->recent[slot].next = (uint32_t)*at;
	return (int64_t)*at - 1;
}

/*
 * Replaces the numbers by indexes into s->values, a list of those that are different.  Returns
 * their number; 0: too many for a dictionary; or -ENOMEM.
 */
static int64_t column_number(const struct parquet_column *c, struct parquet_scratch *s)
{
	struct number_index n = { .values = &s->values };
	size_t limit = c->nr / 4 + 2, i;
	int64_t index = 0;

	bytes_clear(&s->values);
	for (i = 0; i < c->nr && n.nr <= limit && index >= 0; i++) {
		index = number_index_of(&n, c->values[i]);
		s->indexes[i] = (uint32_t)index;
	}
	u64map_release(&n.known);
	if (index < 0 || s->values.error)
		return -ENOMEM;
	return n.nr <= limit ? (int64_t)n.nr : 0;
}

/* The data page of s->indexes into a dictionary of @nr_different values. */
static int column_put_indexes(const struct parquet_column *c, size_t rows, size_t nr_different,
			      struct parquet_scratch *s, struct parquet_chunk *chunk)
{
	unsigned width = parquet_index_width(nr_different);
	unsigned char raw = (unsigned char)width;

	bytes_clear(&s->raw);
	column_put_levels(c, rows, s);
	bytes_add(&s->raw, &raw, 1);
	parquet_encode_hybrid(&s->raw, s->indexes, c->nr, width);
	return page_put(s, PAGE_DATA, rows, PARQUET_DICTIONARY, chunk);
}

/* ---- numbers --------------------------------------------------------------- */

static int column_pack_numbers(const struct parquet_column *c, size_t rows,
			       struct parquet_scratch *s, struct parquet_chunk *chunk)
{
	int64_t nr = c->field.is_rising ? 0 : column_number(c, s);
	int rc;

	if (nr < 0)
		return -ENOMEM;
	if (!nr) {
		bytes_clear(&s->raw);
		column_put_levels(c, rows, s);
		parquet_encode_delta(&s->raw, c->values, c->nr);
		chunk->encoding = PARQUET_DELTA;
		return page_put(s, PAGE_DATA, rows, PARQUET_DELTA, chunk);
	}
	bytes_clear(&s->raw);
	parquet_encode_plain(&s->raw, (const uint64_t *)(const void *)s->values.data, (size_t)nr);
	chunk->encoding = PARQUET_DICTIONARY;
	chunk->dictionary_offset = chunk->data_offset;
	rc = page_put(s, PAGE_DICTIONARY, (size_t)nr, PARQUET_PLAIN, chunk);
	chunk->data_offset += s->pages.size;
	return rc < 0 ? rc : column_put_indexes(c, rows, (size_t)nr, s, chunk);
}

static void column_put_number(unsigned char *to, size_t *size, uint64_t value, unsigned bytes)
{
	unsigned i;

	for (i = 0; i < bytes; i++)
		to[i] = (unsigned char)(value >> 8 * i);
	*size = bytes;
}

static void column_find_range(const struct parquet_column *c, struct parquet_chunk *chunk)
{
	/* Unsigned numbers are compared as signed ones with the sign flipped. */
	uint64_t flip = c->field.type == PARQUET_U64 ? UINT64_C(1) << 63 : 0;
	unsigned bytes = c->field.type == PARQUET_BOOL ? 1 : 8;
	int64_t least = INT64_MAX, greatest = INT64_MIN;
	size_t i;

	for (i = 0; i < c->nr; i++) {
		int64_t value = (int64_t)(c->values[i] ^ flip);

		least = value < least ? value : least;
		greatest = value > greatest ? value : greatest;
	}
	column_put_number(chunk->least, &chunk->least_size, (uint64_t)least ^ flip, bytes);
	column_put_number(chunk->greatest, &chunk->greatest_size, (uint64_t)greatest ^ flip, bytes);
	chunk->has_range = c->nr > 0;
}

/* ---- text ------------------------------------------------------------------ */

static int column_pack_plain_text(const struct parquet_column *c, size_t rows,
				  struct parquet_scratch *s, struct parquet_chunk *chunk)
{
	size_t i;

	bytes_clear(&s->raw);
	column_put_levels(c, rows, s);
	for (i = 0; i < c->nr; i++)
		parquet_encode_text(&s->raw, strtab_text(&c->texts, c->values[i]));
	chunk->encoding = PARQUET_PLAIN;
	return page_put(s, PAGE_DATA, rows, PARQUET_PLAIN, chunk);
}

static int column_pack_text(const struct parquet_column *c, size_t rows, struct parquet_scratch *s,
			    struct parquet_chunk *chunk)
{
	size_t i;
	int rc;

	if (c->texts.nr > c->nr / 2 + 1)
		return column_pack_plain_text(c, rows, s, chunk);
	bytes_clear(&s->raw);
	for (i = 0; i < c->texts.nr; i++)
		parquet_encode_text(&s->raw, strtab_text(&c->texts, i));
	chunk->encoding = PARQUET_DICTIONARY;
	chunk->dictionary_offset = chunk->data_offset;
	rc = page_put(s, PAGE_DICTIONARY, c->texts.nr, PARQUET_PLAIN, chunk);
	chunk->data_offset += s->pages.size;
	for (i = 0; i < c->nr; i++)
		s->indexes[i] = (uint32_t)c->values[i];
	return rc < 0 ? rc : column_put_indexes(c, rows, c->texts.nr, s, chunk);
}

/* Longer texts have no range: a reader then reads the row group. */
static void column_find_text_range(const struct parquet_column *c, struct parquet_chunk *chunk)
{
	const char *least = NULL, *greatest = NULL;
	size_t i;

	for (i = 0; i < c->texts.nr; i++) {
		const char *text = strtab_text(&c->texts, i);

		least = !least || strcmp(text, least) < 0 ? text : least;
		greatest = !greatest || strcmp(text, greatest) > 0 ? text : greatest;
	}
	if (!least || strlen(least) > sizeof(chunk->least) ||
	    strlen(greatest) > sizeof(chunk->greatest))
		return;
	chunk->least_size = strlen(least);
	chunk->greatest_size = strlen(greatest);
	memcpy(chunk->least, least, chunk->least_size);
	memcpy(chunk->greatest, greatest, chunk->greatest_size);
	chunk->has_range = true;
}

/* ---- the column ------------------------------------------------------------ */

static int column_pack_bits(const struct parquet_column *c, size_t rows, struct parquet_scratch *s,
			    struct parquet_chunk *chunk)
{
	bytes_clear(&s->raw);
	column_put_levels(c, rows, s);
	parquet_encode_bits(&s->raw, c->values, c->nr);
	chunk->encoding = PARQUET_PLAIN;
	return page_put(s, PAGE_DATA, rows, PARQUET_PLAIN, chunk);
}

int parquet_column_pack(struct parquet_column *c, size_t rows, uint64_t offset,
			struct parquet_scratch *s, struct parquet_chunk *chunk)
{
	*chunk = (struct parquet_chunk){ .rows = rows,
					 .nulls = rows - c->nr,
					 .data_offset = offset };
	if (!s->zstd)
		s->zstd = ZSTD_createCCtx();
	if (!s->zstd)
		return -ENOMEM;
	bytes_clear(&s->pages);
	if (c->field.type == PARQUET_TEXT)
		column_find_text_range(c, chunk);
	else
		column_find_range(c, chunk);
	if (c->field.type == PARQUET_BOOL || !c->nr)
		return column_pack_bits(c, rows, s, chunk);
	if (c->field.type == PARQUET_TEXT)
		return column_pack_text(c, rows, s, chunk);
	return column_pack_numbers(c, rows, s, chunk);
}

void parquet_column_clear(struct parquet_column *c, size_t rows)
{
	c->nr = 0;
	memset(c->is_set, 0, rows);
	if (c->field.type != PARQUET_TEXT)
		return;
	strtab_release(&c->texts);
	memset(c->constants, 0, sizeof(c->constants));
	c->text_bytes = 0;
}

void parquet_column_release(struct parquet_column *c)
{
	free(c->values);
	free(c->is_set);
	strtab_release(&c->texts);
}

void parquet_scratch_release(struct parquet_scratch *s)
{
	ZSTD_freeCCtx(s->zstd);
	bytes_release(&s->raw);
	bytes_release(&s->pages);
	bytes_release(&s->values);
	free(s->indexes);
	free(s->levels);
}

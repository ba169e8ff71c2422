/* SPDX-License-Identifier: MIT */
/* parquet_writer.c - write one Parquet file: row groups, and the footer that describes them. */
#include "export/parquet_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "corotracer/version.h"
#include "export/parquet_thrift.h"

#define MAGIC      "PAR1"
#define CODEC_ZSTD 6
#define FIRST_ROOM 1024

/* Physical types. */
enum { PHYSICAL_BOOL = 0, PHYSICAL_INT64 = 2, PHYSICAL_BYTES = 6 };
/* The older annotations, for older readers. */
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT64 = 14, CONVERTED_INT64 = 18 };

static const int physical_types[] = {
	[PARQUET_U64] = PHYSICAL_INT64,  [PARQUET_I64] = PHYSICAL_INT64,
	[PARQUET_TIME] = PHYSICAL_INT64, [PARQUET_BOOL] = PHYSICAL_BOOL,
	[PARQUET_TEXT] = PHYSICAL_BYTES,
};

static int parquet_writer_no_memory(const struct parquet_writer *w, struct err *err)
{
	return err_set(err, -ENOMEM, "no memory to write '%s'", w->file.path);
}

static void parquet_writer_put(struct parquet_writer *w, const void *data, size_t size)
{
	outfile_put(&w->file, data, size);
	w->offset += size;
}

/* ---- rows ------------------------------------------------------------------ */

static bool parquet_writer_make_room(struct parquet_writer *w)
{
	size_t room = w->room ? w->room * 2 : FIRST_ROOM;
	uint32_t *indexes, *levels;
	unsigned i;

	if (w->rows < w->room)
		return true;
	for (i = 0; i < w->nr_columns; i++) {
		struct parquet_column *c = &w->columns[i];
		uint64_t *values = reallocarray(c->values, room, sizeof(*values));
		unsigned char *is_set;

		c->values = values ? values : c->values;
		is_set = values ? realloc(c->is_set, room) : NULL;
		if (!is_set)
			return false;
		memset(is_set + w->room, 0, room - w->room);
		c->is_set = is_set;
	}
	indexes = reallocarray(w->scratch.indexes, room, sizeof(*indexes));
	if (!indexes)
		return false;
	w->scratch.indexes = indexes;
	levels = reallocarray(w->scratch.levels, room, sizeof(*levels));
	if (!levels)
		return false;
	w->scratch.levels = levels;
	w->room = room;
	return true;
}

void parquet_set_text(struct parquet_writer *w, unsigned column, const char *text)
{
	struct parquet_column *c = &w->columns[column];
	size_t before = c->texts.nr;
	int64_t number = strtab_intern(&c->texts, text);

	if (number < 0) {
		w->no_memory = true;
		return;
	}
	if (c->texts.nr > before)
		w->text_bytes += strlen(text) + sizeof(struct strtab_entry);
	parquet_set(w, column, (uint64_t)number);
}

void parquet_set_constant(struct parquet_writer *w, unsigned column, const char *text)
{
	struct parquet_column *c = &w->columns[column];
	size_t at = (uintptr_t)text % PARQUET_CONSTANTS;

	if (c->constants[at] == text) {
		parquet_set(w, column, c->constant_numbers[at]);
		return;
	}
	parquet_set_text(w, column, text);
	if (w->no_memory)
		return;
	c->constants[at] = text;
	c->constant_numbers[at] = (uint32_t)c->values[c->nr - 1];
}

/* ---- row groups ------------------------------------------------------------- */

static void parquet_writer_put_range(struct thrift *t, const struct parquet_chunk *chunk)
{
	thrift_begin_field(t, 12);
	thrift_put_i64(t, 3, (int64_t)chunk->nulls);
	if (chunk->has_range) {
		thrift_put_binary(t, 5, chunk->greatest, chunk->greatest_size);
		thrift_put_binary(t, 6, chunk->least, chunk->least_size);
	}
	thrift_end(t);
}

static void parquet_writer_put_chunk(struct thrift *t, const struct parquet_field *field,
				     const struct parquet_chunk *chunk)
{
	bool has_dictionary = chunk->dictionary_offset;

	thrift_begin(t);
	thrift_put_i64(t, 2,
		       (int64_t)(has_dictionary ? chunk->dictionary_offset : chunk->data_offset));
	thrift_begin_field(t, 3);
	thrift_put_i32(t, 1, physical_types[field->type]);
	thrift_put_list(t, 2, THRIFT_I32, has_dictionary ? 3 : 2);
	thrift_add_i32(t, chunk->encoding);
	thrift_add_i32(t, PARQUET_RLE);
	if (has_dictionary)
		thrift_add_i32(t, PARQUET_PLAIN);
	thrift_put_list(t, 3, THRIFT_BINARY, 1);
	thrift_add_text(t, field->name);
	thrift_put_i32(t, 4, CODEC_ZSTD);
	thrift_put_i64(t, 5, (int64_t)chunk->rows);
	thrift_put_i64(t, 6, (int64_t)chunk->raw_size);
	thrift_put_i64(t, 7, (int64_t)chunk->stored_size);
	thrift_put_i64(t, 9, (int64_t)chunk->data_offset);
	if (has_dictionary)
		thrift_put_i64(t, 11, (int64_t)chunk->dictionary_offset);
	parquet_writer_put_range(t, chunk);
	thrift_end(t);
	thrift_end(t);
}

/* Describes a row group in w->groups: the footer comes after the last. */
static void parquet_writer_put_group(struct parquet_writer *w, const struct parquet_chunk *chunks,
				     uint64_t start)
{
	struct thrift t = { .out = &w->groups };
	uint64_t raw = 0;
	unsigned i;

	thrift_begin(&t);
	thrift_put_list(&t, 1, THRIFT_STRUCT, w->nr_columns);
	for (i = 0; i < w->nr_columns; i++) {
		parquet_writer_put_chunk(&t, &w->columns[i].field, &chunks[i]);
		raw += chunks[i].raw_size;
	}
	thrift_put_i64(&t, 2, (int64_t)raw);
	thrift_put_i64(&t, 3, (int64_t)w->rows);
	thrift_put_i64(&t, 5, (int64_t)start);
	thrift_put_i64(&t, 6, (int64_t)(w->offset - start));
	thrift_end(&t);
	w->nr_groups++;
}

static int parquet_writer_end_group(struct parquet_writer *w, struct err *err)
{
	struct parquet_chunk *chunks = calloc(w->nr_columns, sizeof(*chunks));
	uint64_t start = w->offset;
	int rc = chunks ? 0 : -ENOMEM;
	unsigned i;

	for (i = 0; !rc && i < w->nr_columns; i++) {
		struct parquet_column *c = &w->columns[i];

		rc = parquet_column_pack(c, w->rows, w->offset, &w->scratch, &chunks[i]);
		if (rc)
			break;
		parquet_writer_put(w, w->scratch.pages.data, w->scratch.pages.size);
		parquet_column_clear(c, w->rows);
	}
	if (!rc)
		parquet_writer_put_group(w, chunks, start);
	free(chunks);
	if (rc || w->groups.error)
		return parquet_writer_no_memory(w, err);
	w->total += w->rows;
	w->rows = 0;
	w->text_bytes = 0;
	return w->file.error ? outfile_settle(&w->file, err) : 0; /* sets the error */
}

int parquet_end_row(struct parquet_writer *w, struct err *err)
{
	if (w->no_memory)
		return parquet_writer_no_memory(w, err);
	w->rows++;
	if (w->rows >= PARQUET_ROWS || w->text_bytes > PARQUET_TEXT_BYTES)
		return parquet_writer_end_group(w, err);
	return parquet_writer_make_room(w) ? 0 : parquet_writer_no_memory(w, err);
}

/* ---- the footer -------------------------------------------------------------- */

static void parquet_footer_put_type(struct thrift *t, enum parquet_type type)
{
	if (type == PARQUET_BOOL)
		return;
	if (type != PARQUET_TIME)
		thrift_put_i32(t, 6,
			       type == PARQUET_TEXT  ? CONVERTED_UTF8
			       : type == PARQUET_U64 ? CONVERTED_UINT64
						     : CONVERTED_INT64);
	thrift_begin_field(t, 10);
	if (type == PARQUET_TEXT) {
		thrift_begin_field(t, 1);
	} else if (type == PARQUET_TIME) {
		thrift_begin_field(t, 8);
		thrift_put_bool(t, 1, true); /* UTC */
		thrift_begin_field(t, 2);
		thrift_begin_field(t, 3); /* nanoseconds */
		thrift_end(t);
		thrift_end(t);
	} else {
		thrift_begin_field(t, 10);
		thrift_put_i8(t, 1, 64);
		thrift_put_bool(t, 2, type == PARQUET_I64);
	}
	thrift_end(t);
	thrift_end(t);
}

static void parquet_footer_put_schema(struct thrift *t, const struct parquet_writer *w)
{
	unsigned i;

	thrift_put_list(t, 2, THRIFT_STRUCT, w->nr_columns + 1);
	thrift_begin(t);
	thrift_put_text(t, 4, "schema");
	thrift_put_i32(t, 5, (int32_t)w->nr_columns);
	thrift_end(t);
	for (i = 0; i < w->nr_columns; i++) {
		const struct parquet_field *f = &w->columns[i].field;

		thrift_begin(t);
		thrift_put_i32(t, 1, physical_types[f->type]);
		thrift_put_i32(t, 3, f->is_required ? 0 : 1);
		thrift_put_text(t, 4, f->name);
		parquet_footer_put_type(t, f->type);
		thrift_end(t);
	}
}

/* Of each column: its range is in the order of its type. */
static void parquet_footer_put_orders(struct thrift *t, unsigned nr)
{
	thrift_put_list(t, 7, THRIFT_STRUCT, nr);
	while (nr--) {
		thrift_begin(t);
		thrift_begin_field(t, 1);
		thrift_end(t);
		thrift_end(t);
	}
}

static void parquet_footer_put(struct bytes *out, const struct parquet_writer *w,
			       const struct parquet_fact *facts, size_t nr)
{
	struct thrift t = { .out = out };
	size_t i;

	thrift_begin(&t);
	thrift_put_i32(&t, 1, 2);
	parquet_footer_put_schema(&t, w);
	thrift_put_i64(&t, 3, (int64_t)w->total);
	thrift_put_list(&t, 4, THRIFT_STRUCT, w->nr_groups);
	bytes_add(out, w->groups.data, w->groups.size);
	thrift_put_list(&t, 5, THRIFT_STRUCT, nr);
	for (i = 0; i < nr; i++) {
		thrift_begin(&t);
		thrift_put_text(&t, 1, facts[i].key);
		thrift_put_text(&t, 2, facts[i].value);
		thrift_end(&t);
	}
	thrift_put_text(&t, 6, "corotracer version " COROTRACER_VERSION);
	parquet_footer_put_orders(&t, w->nr_columns);
	thrift_end(&t);
}

int parquet_writer_settle(struct parquet_writer *w, const struct parquet_fact *facts, size_t nr,
			  struct err *err)
{
	struct bytes footer = { 0 };
	unsigned char size[4];
	unsigned i;

	if (w->rows && parquet_writer_end_group(w, err) < 0)
		return err->code;
	parquet_footer_put(&footer, w, facts, nr);
	for (i = 0; i < sizeof(size); i++)
		size[i] = (unsigned char)(footer.size >> 8 * i);
	if (!footer.error) {
		parquet_writer_put(w, footer.data, footer.size);
		parquet_writer_put(w, size, sizeof(size));
		parquet_writer_put(w, MAGIC, strlen(MAGIC));
	}
	bytes_release(&footer);
	return footer.error ? parquet_writer_no_memory(w, err) : outfile_settle(&w->file, err);
}

/* ---- the file ---------------------------------------------------------------- */

int parquet_writer_open(struct parquet_writer *w, const char *path,
			const struct parquet_field *fields, unsigned nr, struct err *err)
{
	unsigned i;

	memset(w, 0, sizeof(*w));
	if (outfile_open(&w->file, path, err) < 0)
		return err->code;
	w->columns = calloc(nr, sizeof(*w->columns));
	if (w->columns) {
		w->nr_columns = nr;
		for (i = 0; i < nr; i++)
			w->columns[i].field = fields[i];
	}
	if (!w->columns || !parquet_writer_make_room(w)) {
		parquet_writer_no_memory(w, err);
		parquet_writer_close(w);
		return err->code;
	}
	parquet_writer_put(w, MAGIC, strlen(MAGIC));
	return 0;
}

int parquet_writer_commit(struct parquet_writer *w, struct err *err)
{
	return outfile_commit(&w->file, err);
}

void parquet_writer_close(struct parquet_writer *w)
{
	unsigned i;

	for (i = 0; i < w->nr_columns; i++)
		parquet_column_release(&w->columns[i]);
	free(w->columns);
	w->columns = NULL;
	w->nr_columns = 0;
	bytes_release(&w->groups);
	parquet_scratch_release(&w->scratch);
	memset(&w->scratch, 0, sizeof(w->scratch));
	outfile_close(&w->file);
}

/* SPDX-License-Identifier: MIT */
/*
 * parquet_writer.h - write one Parquet file, row by row.
 *
 *	parquet_writer_open(&w, path, fields, nr, &err);
 *	parquet_set(&w, 0, ts);
 *	parquet_set_text(&w, 1, name);
 *	parquet_end_row(&w, &err);
 *	parquet_writer_settle(&w, facts, &err);
 *	parquet_writer_commit(&w, &err);
 *	parquet_writer_close(&w);
 *
 * A value that is not set is null.  Rows are kept in memory until there are PARQUET_ROWS of them,
 * and then become a row group with the range of each column, by which readers skip groups: memory
 * does not grow with the rows.  The file has its name after the commit (base/output_file.h).
 */
#ifndef EXPORT_PARQUET_WRITER_H
#define EXPORT_PARQUET_WRITER_H

#include "base/err.h"
#include "base/output_file.h"
#include "export/parquet_column.h"

#define PARQUET_ROWS 131072u
/* Different texts of a row group; more of them end it. */
#define PARQUET_TEXT_BYTES ((size_t)16 << 20)

/* All zero is closed. */
struct parquet_writer {
	struct outfile file;
	struct parquet_column *columns;
	unsigned nr_columns;
	size_t rows, room; /* of the open row group */
	size_t text_bytes;
	uint64_t total;  /* rows of the closed groups */
	uint64_t offset; /* in the file */
	struct bytes groups;
	unsigned nr_groups;
	struct parquet_scratch scratch;
	bool no_memory; /* a text of this row could not be kept */
};

/* An entry of the file's metadata. */
struct parquet_fact {
	const char *key, *value;
};

/* The fields are copied, their names are not. */
int parquet_writer_open(struct parquet_writer *w, const char *path,
			const struct parquet_field *fields, unsigned nr, struct err *err);

static inline void parquet_set(struct parquet_writer *w, unsigned column, uint64_t value)
{
	struct parquet_column *c = &w->columns[column];

	c->values[c->nr++] = value;
	c->is_set[w->rows] = 1;
}

/* A text of the program, which is copied. */
void parquet_set_text(struct parquet_writer *w, unsigned column, const char *text);

/* A text that has the same address each time, and is never changed: faster. */
void parquet_set_constant(struct parquet_writer *w, unsigned column, const char *text);

int parquet_end_row(struct parquet_writer *w, struct err *err);

/* Writes the rest of the file under its temporary name. */
int parquet_writer_settle(struct parquet_writer *w, const struct parquet_fact *facts, size_t nr,
			  struct err *err);

/* After the settle: gives the file its name. */
int parquet_writer_commit(struct parquet_writer *w, struct err *err);

/* Removes a file that was not committed. */
void parquet_writer_close(struct parquet_writer *w);

#endif

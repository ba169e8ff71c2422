/* SPDX-License-Identifier: MIT */
/*
 * frame_columns.h - a frame as a row of values: names of the columns, and their text.
 *
 * A plan is made once per frame type and lists the cells: the sequence number, then the members
 * in the order of the spec.  An interval has three cells: start, end, and the difference
 * (NAME_duration for times, NAME_delta for everything else).  A counter's cells have the name of
 * the counter; counters that were not requested are omitted.  Times are nanoseconds, with the
 * recording's offset added.  A time that was never taken is empty, and so is a counter that was
 * not measured.
 */
#ifndef FRAMES_FILE_FRAME_COLUMNS_H
#define FRAMES_FILE_FRAME_COLUMNS_H

#include "frames/spec/layout_json.h"
#include "frames/file/recording_writer.h"

struct row_cell {
	char *name;
	char *json_key; /* ,"NAME": as in JSON lines */
	size_t json_key_size;
	const struct desc_field *field; /* NULL: the sequence number */
	const struct desc_field
		*start; /* of a difference: its start, and field is the end; else NULL */
	uint32_t count; /* columns: more than 1 for arrays */
};

struct row_plan {
	const struct desc_frame *frame;
	struct row_cell *cells;
	size_t nr_cells;
	size_t text_max; /* length limit of a row in any format */
	bool micro;      /* times are seconds and microseconds */
	int64_t delta_ns;
	struct recording_clock clock;
	bool crlf;
	bool guard; /* put an apostrophe before text that a spreadsheet takes for a formula */
};

/* Borrows @d and @info. */
int row_plan_init(struct row_plan *p, const struct desc *d, unsigned type,
		  const struct recording_info *info);
void row_plan_release(struct row_plan *p);

/* The value of element @i of a cell.  A difference has the kind of its type. */
enum row_kind { ROW_NONE, ROW_SIGNED, ROW_UNSIGNED, ROW_BOOL, ROW_FLOAT, ROW_DOUBLE, ROW_TEXT };
struct row_value {
	enum row_kind kind;
	int64_t i;
	uint64_t u;
	double d;
	float f;
	const char *text; /* not terminated */
	size_t size;
};
void row_get(const struct row_plan *p, const struct row_cell *c, uint32_t i, const uint8_t *image,
	     uint64_t ticket, struct row_value *v);

/* The number of columns, and the name of one; @buf is for array elements. */
size_t row_columns(const struct row_plan *p);
const char *row_column_name(const struct row_cell *c, uint32_t i, char *buf, size_t size);

/* Write a row of at most p->text_max bytes; returns its end. */
char *row_csv(const struct row_plan *p, const uint8_t *image, uint64_t ticket, char *at);
char *row_jsonl(const struct row_plan *p, const uint8_t *image, uint64_t ticket, char *at);

/* The heading of a CSV file; the caller frees it. */
char *row_csv_heading(const struct row_plan *p, size_t *size);

#endif

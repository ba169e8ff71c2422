/* SPDX-License-Identifier: MIT */
/*
 * frame_columns.h - a frame as a row of values: names of the columns, and their cells.
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

#include "base/cell.h"
#include "frames/spec/layout_json.h"
#include "frames/file/recording_writer.h"

struct row_cell {
	char *name;
	char *json_key; /* ,"NAME": as in JSON lines */
	size_t json_key_size;
	bool is_list;                   /* an array, which JSON keeps as one */
	const struct desc_field *field; /* NULL: the sequence number */
	const struct desc_field
		*start; /* of a difference: its start, and field is the end; else NULL */
	uint32_t count; /* columns: more than 1 for arrays */
};

struct row_plan {
	const struct desc_frame *frame;
	struct row_cell *cells;
	size_t nr_cells;
	size_t json_max; /* length limit of a row in JSON */
	bool micro;      /* times are seconds and microseconds */
	int64_t delta_ns;
	struct recording_clock clock;
};

/* Borrows @d and @info. */
int row_plan_init(struct row_plan *p, const struct desc *d, unsigned type,
		  const struct recording_info *info);
void row_plan_release(struct row_plan *p);

/* The value of element @i of a cell.  A difference has the kind of its type. */
void row_get(const struct row_plan *p, const struct row_cell *c, uint32_t i, const uint8_t *image,
	     uint64_t ticket, struct cell *v);

/* The number of columns, and the name of one; @buf is for array elements. */
size_t row_columns(const struct row_plan *p);
const char *row_column_name(const struct row_cell *c, uint32_t i, char *buf, size_t size);

/*
 * Write a row as a line of JSON of at most p->json_max bytes; returns its end.  Up to 64 bytes
 * after it may be overwritten.
 */
char *row_jsonl(const struct row_plan *p, const uint8_t *image, uint64_t ticket, char *at);

/* The same of the members only, as a JSON object without a newline. */
char *row_fields(const struct row_plan *p, const uint8_t *image, char *at);

#endif

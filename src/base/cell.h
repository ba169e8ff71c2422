/* SPDX-License-Identifier: MIT */
/*
 * cell.h - one typed value of a row, and its text in CSV and JSON.
 *
 * Rows of a trace and frames of a recording are sequences of cells, so that each output format has
 * one writer for both.
 */
#ifndef BASE_CELL_H
#define BASE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/output_file.h"

enum cell_kind {
	CELL_NULL,
	CELL_SIGNED,
	CELL_UNSIGNED,
	CELL_BOOL, /* in u */
	CELL_FLOAT,
	CELL_DOUBLE,
	CELL_TEXT,
};

struct cell {
	enum cell_kind kind;
	union {
		int64_t i;
		uint64_t u;
		float f;
		double d;
		struct {
			const char *text; /* not terminated */
			size_t size;
		};
	};
};

static inline struct cell cell_u64(uint64_t u)
{
	return (struct cell){ .kind = CELL_UNSIGNED, .u = u };
}

static inline struct cell cell_text(const char *text, size_t size)
{
	return (struct cell){ .kind = CELL_TEXT, .text = text, .size = size };
}

/* True for a number that is neither infinite nor NaN. */
bool cell_is_finite(const struct cell *c);

enum cell_form {
	CELL_CSV,        /* text is quoted only if it must be */
	CELL_CSV_QUOTED, /* text is always quoted */
	CELL_JSON,       /* NaN and infinities are null */
};

/* Size that cell_format() needs at most, with the bytes that it writes past the end. */
size_t cell_format_max(const struct cell *c);

/*
 * Write the cell at @at; returns its end.  Invalid UTF-8 becomes U+FFFD.  @guard: in CSV, put an
 * apostrophe before text that a spreadsheet would read as a formula.
 */
char *cell_format(char *at, const struct cell *c, enum cell_form form, bool guard);

/*
 * The same into a file.  A separator of a few bytes may follow in place, at f->at.  Returns 0 or
 * -ENOMEM.
 */
int cell_put(struct outfile *f, const struct cell *c, enum cell_form form, bool guard);

#endif

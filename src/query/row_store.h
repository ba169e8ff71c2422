/* SPDX-License-Identifier: MIT */
/* row_store.h - rows of cells in memory, packed, found by number. */
#ifndef QUERY_ROW_STORE_H
#define QUERY_ROW_STORE_H

#include "base/bytes.h"
#include "base/cell.h"

/* All zero: empty. */
struct row_store {
	struct bytes data;
	size_t *starts; /* of the rows in data */
	size_t nr, room;
};

/* Adds a row of @nr cells of any kind but CELL_FLOAT.  False: no memory. */
bool row_store_add(struct row_store *s, const struct cell *cells, size_t nr);

/* The cells of row @row, as many as were added.  Texts are valid until the next change. */
void row_store_get(const struct row_store *s, size_t row, struct cell *cells, size_t nr);

/* Keeps the memory. */
void row_store_clear(struct row_store *s);

void row_store_release(struct row_store *s);

#endif

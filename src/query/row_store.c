/* SPDX-License-Identifier: MIT */
/* row_store.c - rows of cells in memory, packed. */
#include "query/row_store.h"

#include <stdlib.h>
#include <string.h>

static bool row_store_reserve(struct row_store *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	size_t *starts;

	if (s->nr < s->room)
		return true;
	starts = reallocarray(s->starts, room, sizeof(*starts));
	if (!starts)
		return false;
	s->starts = starts;
	s->room = room;
	return true;
}

bool row_store_add(struct row_store *s, const struct cell *cells, size_t nr)
{
	size_t i;

	if (!row_store_reserve(s))
		return false;
	s->starts[s->nr] = s->data.size;
	for (i = 0; i < nr; i++) {
		unsigned char kind = (unsigned char)cells[i].kind;

		bytes_add(&s->data, &kind, 1);
		if (kind == CELL_TEXT) {
			bytes_add(&s->data, &cells[i].size, sizeof(cells[i].size));
			bytes_add(&s->data, cells[i].text, cells[i].size);
		} else if (kind != CELL_NULL) {
			bytes_add(&s->data, &cells[i].u, sizeof(cells[i].u));
		}
	}
	if (s->data.error)
		return false;
	s->nr++;
	return true;
}

void row_store_get(const struct row_store *s, size_t row, struct cell *cells, size_t nr)
{
	const unsigned char *at = s->data.data + s->starts[row];
	size_t i;

	for (i = 0; i < nr; i++) {
		struct cell *c = &cells[i];

		c->kind = (enum cell_kind) * at++;
		if (c->kind == CELL_TEXT) {
			memcpy(&c->size, at, sizeof(c->size));
			c->text = (const char *)at + sizeof(c->size);
			at += sizeof(c->size) + c->size;
		} else if (c->kind != CELL_NULL) {
			memcpy(&c->u, at, sizeof(c->u));
			at += sizeof(c->u);
		}
	}
}

void row_store_clear(struct row_store *s)
{
	bytes_clear(&s->data);
	s->nr = 0;
}

void row_store_release(struct row_store *s)
{
	bytes_release(&s->data);
	free(s->starts);
	*s = (struct row_store){ 0 };
}

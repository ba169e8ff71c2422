/* SPDX-License-Identifier: MIT */
/* native_block.c - rows for one INSERT, column by column, in ClickHouse's format "Native". */
#include "fleet/native_block.h"

#include <errno.h>
#include <stdlib.h>

#define NATIVE_ROOM 64

/* Of a column with a dictionary: its version, and "the dictionary follows, numbers have 16 bits".
 */
#define NATIVE_DICTIONARY_VERSION UINT64_C(1)
#define NATIVE_DICTIONARY_FLAGS   (UINT64_C(1) << 9 | UINT64_C(1) << 10 | UINT64_C(1))

static bool native_block_grow(struct native_block *b)
{
	size_t room = b->room ? b->room * 2 : NATIVE_ROOM;
	uint16_t *labels = reallocarray(b->labels, room, sizeof(*labels));
	unsigned i;

	if (!labels)
		return false;
	b->labels = labels;
	for (i = 0; i < b->table->nr_columns; i++) {
		unsigned char *more;

		if (!b->table->columns[i].size)
			continue;
		more = reallocarray(b->data[i], room, b->table->columns[i].size);
		if (!more)
			return false;
		b->data[i] = more;
	}
	b->room = room;
	return true;
}

int native_block_add(struct native_block *b, unsigned label)
{
	if (b->nr == b->room && !native_block_grow(b))
		return -ENOMEM;
	b->labels[b->nr++] = (uint16_t)label;
	return 0;
}

void native_put_text(struct native_block *b, unsigned column, const char *text, size_t size)
{
	bytes_add_varint(&b->texts[column], size);
	bytes_add(&b->texts[column], text, size);
}

void native_array_end(struct native_block *b, unsigned column, size_t size)
{
	uint64_t end = b->texts[column].size / size;

	bytes_add(&b->ends[column], &end, sizeof(end));
}

/* ---- what is sent -------------------------------------------------------------- */

static void native_add_text(struct bytes *to, const char *text)
{
	bytes_add_varint(to, strlen(text));
	bytes_add_text(to, text);
}

static void native_add_u64(struct bytes *to, uint64_t value)
{
	bytes_add(to, &value, sizeof(value));
}

/* The head of a label's column, with the texts of all entries; the numbers of the rows follow. */
static void native_add_dictionary(struct bytes *to, const struct native_block *b,
				  const struct native_column *column, const void *const *entries,
				  size_t nr_entries)
{
	size_t i;

	native_add_u64(to, NATIVE_DICTIONARY_VERSION);
	native_add_u64(to, NATIVE_DICTIONARY_FLAGS);
	native_add_u64(to, nr_entries);
	for (i = 0; i < nr_entries; i++)
		native_add_text(to, (const char *)entries[i] + column->offset);
	native_add_u64(to, b->nr);
}

static const struct bytes *native_piece_data(const struct native_block *b, unsigned column,
					     struct native_pieces *p)
{
	const struct native_column *c = &b->table->columns[column];
	struct bytes *view = &p->own[2 * (size_t)column + 1];

	if (c->is_label)
		return &p->labels;
	if (!c->size)
		return &b->texts[column];
	view->data = b->data[column];
	view->size = b->nr * c->size;
	return view;
}

int native_block_pieces(const struct native_block *b, const void *const *entries, size_t nr_entries,
			struct native_pieces *p)
{
	unsigned i;
	int rc = 0;

	*p = (struct native_pieces){ .nr = 0 };
	p->labels.data = (unsigned char *)b->labels;
	p->labels.size = b->nr * sizeof(*b->labels);
	for (i = 0; i < b->table->nr_columns; i++) {
		const struct native_column *c = &b->table->columns[i];
		struct bytes *head = &p->own[2 * (size_t)i];

		if (i == 0) {
			bytes_add_varint(head, b->table->nr_columns);
			bytes_add_varint(head, b->nr);
		}
		native_add_text(head, c->name);
		native_add_text(head, c->type);
		if (c->is_label)
			native_add_dictionary(head, b, c, entries, nr_entries);
		p->list[p->nr++] = head;
		p->list[p->nr++] = &b->ends[i];
		p->list[p->nr++] = native_piece_data(b, i, p);
		if (head->error || b->texts[i].error || b->ends[i].error)
			rc = -ENOMEM;
	}
	return rc;
}

void native_pieces_release(struct native_pieces *p)
{
	unsigned i;

	for (i = 0; i < NATIVE_COLUMNS_MAX; i++)
		bytes_release(&p->own[2 * (size_t)i]); /* the others are views */
}

void native_block_clear(struct native_block *b)
{
	unsigned i;

	for (i = 0; i < NATIVE_COLUMNS_MAX; i++) {
		bytes_clear(&b->texts[i]);
		bytes_clear(&b->ends[i]);
	}
	b->nr = 0;
}

void native_block_release(struct native_block *b)
{
	unsigned i;

	for (i = 0; i < NATIVE_COLUMNS_MAX; i++) {
		free(b->data[i]);
		b->data[i] = NULL;
		bytes_release(&b->texts[i]);
		bytes_release(&b->ends[i]);
	}
	free(b->labels);
	b->labels = NULL;
	b->nr = b->room = 0;
}

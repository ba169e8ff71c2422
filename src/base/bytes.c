/* SPDX-License-Identifier: MIT */
/* bytes.c - growable byte buffer. */
#include "base/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"

static int bytes_make_room(struct bytes *b, size_t size)
{
	size_t room = b->room ? b->room : 256;
	unsigned char *data;

	if (size > SIZE_MAX / 2 - b->size)
		return -ENOMEM;
	while (room < b->size + size)
		room *= 2;
	if (room == b->room)
		return 0;
	data = realloc(b->data, room);
	if (!data)
		return -ENOMEM;
	b->data = data;
	b->room = room;
	return 0;
}

char *bytes_room(struct bytes *b, size_t size)
{
	if (!b->error)
		b->error = bytes_make_room(b, size + FMT_SLACK);
	return b->error ? NULL : (char *)b->data + b->size;
}

unsigned char *bytes_more(struct bytes *b, size_t size)
{
	unsigned char *at;

	if (!b->error)
		b->error = bytes_make_room(b, size);
	if (b->error)
		return NULL;
	at = b->data + b->size;
	b->size += size;
	return at;
}

void bytes_add(struct bytes *b, const void *data, size_t size)
{
	unsigned char *at = size ? bytes_more(b, size) : NULL;

	if (at)
		memcpy(at, data, size);
}

bool bytes_put(struct bytes *b, const void *data, size_t size)
{
	bytes_add(b, data, size);
	return !b->error;
}

void bytes_add_text(struct bytes *b, const char *text)
{
	bytes_add(b, text, strlen(text));
}

void bytes_add_varint(struct bytes *b, uint64_t value)
{
	unsigned char text[10];
	size_t nr = 0;

	while (value >= 0x80) {
		text[nr++] = (unsigned char)(value | 0x80);
		value >>= 7;
	}
	text[nr++] = (unsigned char)value;
	bytes_add(b, text, nr);
}

void bytes_clear(struct bytes *b)
{
	b->size = 0;
	b->error = 0;
}

void bytes_release(struct bytes *b)
{
	free(b->data);
	*b = (struct bytes){ 0 };
}

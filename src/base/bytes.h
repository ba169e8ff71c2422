/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - growable byte buffer.
 *
 * The first failure (out of memory) is kept in `error`, and nothing is added after it: callers
 * check once, at the end.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero: an empty buffer. */
struct bytes {
	unsigned char *data;
	size_t size, room;
	int error; /* 0 or -ENOMEM */
};

/* Append @size uninitialized bytes for the caller to fill.  NULL after a failure. */
unsigned char *bytes_more(struct bytes *b, size_t size);

/* Space for @size bytes plus FMT_SLACK; the caller adds the bytes it wrote to b->size. */
char *bytes_room(struct bytes *b, size_t size);

/* As bytes_add(), with the result returned: false after a failure. */
bool bytes_put(struct bytes *b, const void *data, size_t size);

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_add_text(struct bytes *b, const char *text);

/* LEB128: seven bits per byte, lowest first. */
void bytes_add_varint(struct bytes *b, uint64_t value);

/* Empty the buffer, keep its memory. */
void bytes_clear(struct bytes *b);

void bytes_release(struct bytes *b);

#endif

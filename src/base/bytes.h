/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - bytes that become more.
 *
 * The first failure (no memory) sticks, and nothing is added after it: callers look once,
 * at the end.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is empty. */
struct bytes {
	unsigned char *data;
	size_t size, room;
	int error; /* 0 or -ENOMEM */
};

/* @size bytes at the end, for the caller to fill; NULL after a failure. */
unsigned char *bytes_more(struct bytes *b, size_t size);

/* Where @size bytes may be written (and FMT_SLACK behind them); what was, the caller adds to size.
 */
char *bytes_room(struct bytes *b, size_t size);

/* The same as bytes_add(), for who looks at once; false after a failure. */
bool bytes_put(struct bytes *b, const void *data, size_t size);

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_add_text(struct bytes *b, const char *text);

/* LEB128: seven bits a byte, the lowest first. */
void bytes_add_varint(struct bytes *b, uint64_t value);

/* Forget what is in it, keep the memory. */
void bytes_clear(struct bytes *b);

void bytes_release(struct bytes *b);

#endif

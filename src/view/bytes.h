/* SPDX-License-Identifier: MIT */
/*
 * bytes.h - bytes that become more.
 *
 * The first failure (no memory) sticks, and nothing is added after it: callers look once,
 * at the end.
 */
#ifndef VIEW_BYTES_H
#define VIEW_BYTES_H

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

void bytes_add(struct bytes *b, const void *data, size_t size);
void bytes_add_text(struct bytes *b, const char *text);

/* LEB128: seven bits a byte, the lowest first. */
void bytes_add_varint(struct bytes *b, uint64_t value);

/* Forget what is in it, keep the memory. */
void bytes_clear(struct bytes *b);

void bytes_release(struct bytes *b);

#endif

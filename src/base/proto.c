/* SPDX-License-Identifier: MIT */
/* proto.c - write protocol buffers. */
#include "base/proto.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Wire type of a value: the low bits of its tag. */
enum wire { VARINT = 0, FIXED64 = 1, DELIMITED = 2 };

#define VARINT_MAX 10 /* bytes for 64 bits, seven per byte */
#define TAG_MAX    5

/* ---- bytes --------------------------------------------------------------- */

static __attribute__((noinline)) uint8_t *more_room(struct proto *p, size_t size)
{
	size_t wanted = p->size ? p->size : 4096;
	uint8_t *buf;

	if (p->error)
		return NULL;
	while (wanted - p->used < size && wanted <= SIZE_MAX / 2)
		wanted *= 2;
	buf = wanted - p->used >= size ? realloc(p->buf, wanted) : NULL;
	if (!buf) {
		p->error = -ENOMEM;
		return NULL;
	}
	p->buf = buf;
	p->size = wanted;
	return buf + p->used;
}

/*
 * Space for @size bytes at the end; the caller adds what it writes to the count.  NULL after a
 * failure.
 */
static inline uint8_t *proto_room(struct proto *p, size_t size)
{
	if (__builtin_expect(!p->error && size <= p->size - p->used, 1))
		return p->buf + p->used;
	return more_room(p, size);
}

static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

static inline uint8_t *put_tag(uint8_t *at, uint32_t field, enum wire wire)
{
	return put_varint(at, (uint64_t)field << 3 | (uint64_t)wire);
}

static inline void proto_is_full(struct proto *p, const uint8_t *end)
{
	p->used = (size_t)(end - p->buf);
}

static unsigned varint_size(uint64_t value)
{
	unsigned nr = 1;

	while (value >>= 7)
		nr++;
	return nr;
}

/* ---- values -------------------------------------------------------------- */

void proto_u64(struct proto *p, uint32_t field, uint64_t value)
{
	uint8_t *at = proto_room(p, TAG_MAX + VARINT_MAX);

	if (at)
		proto_is_full(p, put_varint(put_tag(at, field, VARINT), value));
}

void proto_i64(struct proto *p, uint32_t field, int64_t value)
{
	proto_u64(p, field, (uint64_t)value);
}

void proto_fixed64(struct proto *p, uint32_t field, uint64_t value)
{
	uint8_t *at = proto_room(p, TAG_MAX + sizeof(value));

	if (!at)
		return;
	at = put_tag(at, field, FIXED64);
	value = htole64(value);
	memcpy(at, &value, sizeof(value));
	proto_is_full(p, at + sizeof(value));
}

void proto_double(struct proto *p, uint32_t field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	proto_fixed64(p, field, bits);
}

/* Number of bytes before the first invalid UTF-8. */
static size_t valid_bytes(const char *text, size_t size)
{
	size_t at = 0, len;
	uint32_t cp;

	while (at < size) {
		/* An encoded U+FFFD in the text is valid: three bytes. */
		len = utf8_next(text + at, size - at, &cp);
		if (cp == UTF8_BAD && (len != 3 || memcmp(text + at, "\xef\xbf\xbd", 3) != 0))
			break;
		at += len;
	}
	return at;
}

static void proto_put_bytes(struct proto *p, const void *bytes, size_t size)
{
	uint8_t *at = proto_room(p, size);

	if (!at || !size)
		return;
	memcpy(at, bytes, size);
	proto_is_full(p, at + size);
}

/* Write the text with U+FFFD in place of invalid bytes. */
static void put_mended(struct proto *p, const char *text, size_t size)
{
	size_t good, len;
	uint32_t cp;

	for (;;) {
		good = valid_bytes(text, size);
		proto_put_bytes(p, text, good);
		if (good == size)
			return;
		text += good;
		size -= good;
		len = utf8_next(text, size, &cp);
		proto_put_bytes(p, "\xef\xbf\xbd", 3);
		text += len;
		size -= len;
	}
}

void proto_string(struct proto *p, uint32_t field, const char *text, size_t size)
{
	uint8_t *at;

	if (valid_bytes(text, size) != size) {
		/* The length is not known yet, as with a message. */
		proto_begin(p, field);
		put_mended(p, text, size);
		proto_end(p);
		return;
	}
	at = proto_room(p, TAG_MAX + VARINT_MAX);
	if (!at)
		return;
	proto_is_full(p, put_varint(put_tag(at, field, DELIMITED), size));
	proto_put_bytes(p, text, size);
}

void proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t size)
{
	uint8_t *at = proto_room(p, TAG_MAX + VARINT_MAX);

	if (!at)
		return;
	proto_is_full(p, put_varint(put_tag(at, field, DELIMITED), size));
	proto_put_bytes(p, bytes, size);
}

/* ---- messages ------------------------------------------------------------ */

void proto_begin(struct proto *p, uint32_t field)
{
	uint8_t *at = proto_room(p, TAG_MAX + 1);

	if (!at)
		return;
	if (p->depth == PROTO_DEPTH_MAX) {
		p->error = -E2BIG;
		return;
	}
	/* Reserve one byte for the length: most messages are short, and longer ones are moved. */
	proto_is_full(p, put_tag(at, field, DELIMITED) + 1);
	p->starts[p->depth++] = p->used;
}

void proto_end(struct proto *p)
{
	size_t start, size;
	unsigned more;

	if (p->error)
		return;
	if (!p->depth) {
		p->error = -EINVAL;
		return;
	}
	start = p->starts[--p->depth];
	size = p->used - start;
	more = varint_size(size) - 1;
	if (more) {
		if (!proto_room(p, more))
			return;
		memmove(p->buf + start + more, p->buf + start, size);
		p->used += more;
	}
	put_varint(p->buf + start - 1, size);
}

void proto_release(struct proto *p)
{
	free(p->buf);
	*p = (struct proto){ 0 };
}

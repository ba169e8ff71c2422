/* SPDX-License-Identifier: MIT */
/*
 * proto.h - write protocol buffers into memory that the caller empties from time to time.
 *
 *	struct proto p = { 0 };
 *
 *	proto_begin(&p, 1);
 *	proto_u64(&p, 8, ts);
 *	proto_string(&p, 2, "name", 4);
 *	proto_end(&p);
 *	... p.buf has p.used bytes; take them, and set p.used to 0
 *	proto_release(&p);
 *
 * Fields are written in the order of the calls, lengths in their shortest form.  The first failure
 * (no memory, messages nested too deep) is kept in p.error; later writes do nothing, and callers
 * check once.
 *
 * The format requires strings to be UTF-8: invalid bytes become U+FFFD.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define PROTO_DEPTH_MAX 8

/* All zero: empty. */
struct proto {
	uint8_t *buf;
	size_t used, size;
	int error; /* negative errno of the first failure */
	unsigned depth;
	size_t starts[PROTO_DEPTH_MAX]; /* open messages: the offset after their length */
};

void proto_u64(struct proto *p, uint32_t field, uint64_t value);
void proto_i64(struct proto *p, uint32_t field, int64_t value); /* int32, int64: not zigzag */
void proto_fixed64(struct proto *p, uint32_t field, uint64_t value);
void proto_double(struct proto *p, uint32_t field, double value);
void proto_string(struct proto *p, uint32_t field, const char *text, size_t size);
void proto_bytes(struct proto *p, uint32_t field, const void *bytes, size_t size);

/* Begin and end a nested message as field @field. */
void proto_begin(struct proto *p, uint32_t field);
void proto_end(struct proto *p);

void proto_release(struct proto *p);

#endif

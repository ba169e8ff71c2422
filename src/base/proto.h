/* SPDX-License-Identifier: MIT */
/*
 * proto.h - write protocol buffers, into memory that its owner empties now and then.
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
 * Messages are written as they will be read: fields in the order of the calls, lengths in
 * their shortest form.  The first failure (no memory, messages too deep) sticks in
 * p.error; what is written after it goes nowhere, and callers look once.
 *
 * A string must be UTF-8 by the rules of the format: what is not becomes U+FFFD.
 */
#ifndef BASE_PROTO_H
#define BASE_PROTO_H

#include <stddef.h>
#include <stdint.h>

#define PROTO_DEPTH_MAX 8

/* All zero is empty. */
struct proto {
	uint8_t *buf;
	size_t used, size;
	int error; /* negative errno of the first failure */
	unsigned depth;
	size_t starts[PROTO_DEPTH_MAX]; /* of the messages that are open: behind their length */
};

void proto_u64(struct proto *p, uint32_t field, uint64_t value);
void proto_i64(struct proto *p, uint32_t field, int64_t value); /* int32, int64: not zigzag */
void proto_fixed64(struct proto *p, uint32_t field, uint64_t value);
void proto_double(struct proto *p, uint32_t field, double value);
void proto_string(struct proto *p, uint32_t field, const char *text, size_t size);

/* A message as a field of the one that is open. */
void proto_begin(struct proto *p, uint32_t field);
void proto_end(struct proto *p);

void proto_release(struct proto *p);

#endif

/* SPDX-License-Identifier: MIT */
/* unpack_stream.h - bytes and integers from the streams of a block. */
#ifndef MEMORY_FORMAT_UNPACK_STREAM_H
#define MEMORY_FORMAT_UNPACK_STREAM_H

#include "memory/format/block_unpack.h"

/* At most 10 bytes; excess bits are cut. */
static inline bool unpack_varint(struct unpack_stream *s, uint64_t *out)
{
	uint64_t v = 0;
	unsigned shift;

	for (shift = 0; shift < 70 && s->at < s->end; shift += 7) {
		uint8_t byte = *s->at++;

		v |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 63);
		if (byte < 0x80) {
			*out = v;
			return true;
		}
	}
	return false;
}

static inline bool unpack_svarint(struct unpack_stream *s, uint64_t *out)
{
	uint64_t v;

	if (!unpack_varint(s, &v))
		return false;
	*out = v >> 1 ^ (0 - (v & 1));
	return true;
}

static inline bool unpack_byte(struct unpack_stream *s, uint8_t *out)
{
	if (s->at == s->end)
		return false;
	*out = *s->at++;
	return true;
}

/* The step that the last address of the site was from UNPACK_STRIDE or UNPACK_DISTANCE. */
static inline uint64_t unpack_step_of(const struct unpack_site *site, uint32_t from)
{
	return site->last - site->from[from];
}

/* Read the next symbol.  False: there is none, or it is an event. */
static inline bool unpack_peek_access(struct unpack_stream *symbols, uint64_t *v)
{
	if (symbols->at < symbols->end && *symbols->at < 0x80)
		*v = *symbols->at++;
	else if (!unpack_varint(symbols, v))
		return false;
	return *v >> 2 != CRAY_EVENT;
}

#endif

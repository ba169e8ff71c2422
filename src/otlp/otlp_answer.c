/* SPDX-License-Identifier: MIT */
/* otlp_answer.c - parse the answer of a receiver: how many spans it rejected, and why. */
#include <stdbool.h>
#include <stdio.h>

#include "otlp/otlp_send.h"

struct answer_field {
	uint32_t number, wire;
	uint64_t value;      /* of a varint */
	const uint8_t *data; /* of bytes */
	size_t size;
};

static bool answer_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	unsigned shift;

	*value = 0;
	for (shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The next field.  False: the end, or a damaged one. */
static bool answer_next(const uint8_t **at, const uint8_t *end, struct answer_field *f)
{
	uint64_t tag;

	if (*at >= end || !answer_varint(at, end, &tag))
		return false;
	f->number = (uint32_t)(tag >> 3);
	f->wire = tag & 7;
	if (f->wire == 0)
		return answer_varint(at, end, &f->value);
	if (f->wire == 2) {
		if (!answer_varint(at, end, &f->value) || f->value > (uint64_t)(end - *at))
			return false;
		f->data = *at;
		f->size = (size_t)f->value;
		*at += f->size;
		return true;
	}
	f->size = f->wire == 1 ? 8 : f->wire == 5 ? 4 : 0;
	if (!f->size || f->size > (size_t)(end - *at))
		return false;
	*at += f->size;
	return true;
}

void otlp_parse_answer(const uint8_t *data, size_t size, struct otlp_sent *sent)
{
	const uint8_t *at = data, *end = data + size;
	struct answer_field outer = { 0 }, f = { 0 };

	while (answer_next(&at, end, &outer)) {
		const uint8_t *inner = outer.data;

		if (outer.number != 1 || outer.wire != 2) /* partial_success */
			continue;
		while (answer_next(&inner, outer.data + outer.size, &f)) {
			if (f.number == 1 && f.wire == 0 && (int64_t)f.value > 0)
				sent->rejected += f.value;
			else if (f.number == 2 && f.wire == 2 && f.size)
				snprintf(sent->message, sizeof(sent->message), "%.*s",
					 (int)(f.size < 255 ? f.size : 255), (const char *)f.data);
		}
	}
}

/* SPDX-License-Identifier: MIT */
/* parquet_thrift.c - write structs in Thrift's compact protocol. */
#include "export/parquet_thrift.h"

#include <string.h>

static void thrift_add_byte(struct thrift *t, unsigned value)
{
	unsigned char byte = (unsigned char)value;

	bytes_add(t->out, &byte, 1);
}

static void thrift_add_zigzag(struct thrift *t, int64_t value)
{
	bytes_add_varint(t->out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

/* A field that is at most 15 numbers behind the one before takes one byte. */
static void thrift_add_field(struct thrift *t, unsigned id, enum thrift_type type)
{
	unsigned *last = &t->last[t->depth - 1], step = id - *last;

	if (step <= 15) {
		thrift_add_byte(t, step << 4 | type);
	} else {
		thrift_add_byte(t, type);
		thrift_add_zigzag(t, id);
	}
	*last = id;
}

void thrift_begin(struct thrift *t)
{
	t->last[t->depth++] = 0;
}

void thrift_begin_field(struct thrift *t, unsigned id)
{
	thrift_add_field(t, id, THRIFT_STRUCT);
	thrift_begin(t);
}

void thrift_end(struct thrift *t)
{
	thrift_add_byte(t, 0);
	t->depth--;
}

void thrift_put_list(struct thrift *t, unsigned id, enum thrift_type type, size_t nr)
{
	thrift_add_field(t, id, THRIFT_LIST);
	if (nr < 15) {
		thrift_add_byte(t, (unsigned)nr << 4 | type);
	} else {
		thrift_add_byte(t, 0xf0 | type);
		bytes_add_varint(t->out, nr);
	}
}

void thrift_add_i32(struct thrift *t, int32_t value)
{
	thrift_add_zigzag(t, value);
}

void thrift_add_text(struct thrift *t, const char *text)
{
	size_t size = strlen(text);

	bytes_add_varint(t->out, size);
	bytes_add(t->out, text, size);
}

void thrift_put_bool(struct thrift *t, unsigned id, bool value)
{
	thrift_add_field(t, id, value ? THRIFT_TRUE : THRIFT_FALSE);
}

void thrift_put_i8(struct thrift *t, unsigned id, int8_t value)
{
	thrift_add_field(t, id, THRIFT_I8);
	thrift_add_byte(t, (uint8_t)value);
}

void thrift_put_i32(struct thrift *t, unsigned id, int32_t value)
{
	thrift_add_field(t, id, THRIFT_I32);
	thrift_add_zigzag(t, value);
}

void thrift_put_i64(struct thrift *t, unsigned id, int64_t value)
{
	thrift_add_field(t, id, THRIFT_I64);
	thrift_add_zigzag(t, value);
}

void thrift_put_text(struct thrift *t, unsigned id, const char *text)
{
	thrift_add_field(t, id, THRIFT_BINARY);
	thrift_add_text(t, text);
}

void thrift_put_binary(struct thrift *t, unsigned id, const void *data, size_t size)
{
	thrift_add_field(t, id, THRIFT_BINARY);
	bytes_add_varint(t->out, size);
	bytes_add(t->out, data, size);
}

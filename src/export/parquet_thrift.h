/* SPDX-License-Identifier: MIT */
/*
 * parquet_thrift.h - write structs in Thrift's compact protocol, which the metadata of Parquet
 *uses.
 *
 *	struct thrift t = { .out = &bytes };
 *
 *	thrift_begin(&t);                  the outermost struct
 *	thrift_put_i64(&t, 3, rows);       field 3
 *	thrift_begin_field(&t, 4);         field 4, a struct
 *	...
 *	thrift_end(&t);
 *	thrift_end(&t);
 *
 * The fields of a struct are written in the order of their numbers.
 */
#ifndef EXPORT_PARQUET_THRIFT_H
#define EXPORT_PARQUET_THRIFT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

#define THRIFT_DEPTH 12

/* Types of fields and of the elements of a list. */
enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I8 = 3,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

/* All zero but for @out. */
struct thrift {
	struct bytes *out;
	unsigned depth;
	unsigned last[THRIFT_DEPTH]; /* number of the last field, per open struct */
};

/* The outermost struct, or an element of a list of structs. */
void thrift_begin(struct thrift *t);
/* A struct that is field @id of the open one. */
void thrift_begin_field(struct thrift *t, unsigned id);
void thrift_end(struct thrift *t);

/* @nr elements follow: thrift_begin() ... thrift_end() for each struct, or thrift_add_*(). */
void thrift_put_list(struct thrift *t, unsigned id, enum thrift_type type, size_t nr);
void thrift_add_i32(struct thrift *t, int32_t value);
void thrift_add_text(struct thrift *t, const char *text);

void thrift_put_bool(struct thrift *t, unsigned id, bool value);
void thrift_put_i8(struct thrift *t, unsigned id, int8_t value);
void thrift_put_i32(struct thrift *t, unsigned id, int32_t value);
void thrift_put_i64(struct thrift *t, unsigned id, int64_t value);
void thrift_put_text(struct thrift *t, unsigned id, const char *text);
void thrift_put_binary(struct thrift *t, unsigned id, const void *data, size_t size);

#endif

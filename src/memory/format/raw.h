/* SPDX-License-Identifier: MIT */
/* raw.h - encode and decode records of the raw Cacheray format. */
#ifndef MEMORY_FORMAT_RAW_H
#define MEMORY_FORMAT_RAW_H

#include <string.h>

#include "memory/format/mem_record.h"

enum { RAW_ACCESS_SIZE = 18, RAW_ADD_SIZE = 29, RAW_REMOVE_SIZE = 17 };
#define RAW_RECORD_MAX (RAW_ADD_SIZE + CRAY_NAME_MAX)

/*
 * Write @r, for which mem_is_raw() holds, to @out, which has RAW_RECORD_MAX bytes.  Returns the
 * bytes written.
 */
size_t raw_encode(uint8_t *out, const struct mem_record *r, uint64_t thread_id);

/*
 * Read one record from the @size bytes at @in.  Returns its bytes; 0 if there are too few; -1 if
 * it is not a record, with the reason in *@what. out->name points into @in.
 */
long raw_decode(const uint8_t *in, size_t size, struct mem_record *out, uint64_t *thread_id,
		const char **what);

#endif

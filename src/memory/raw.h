/* SPDX-License-Identifier: MIT */
/* raw.h - the seed's records, to the byte. */
#ifndef MEMORY_RAW_H
#define MEMORY_RAW_H

#include <string.h>

#include "memory/record.h"

enum { RAW_ACCESS_SIZE = 18, RAW_ADD_SIZE = 29, RAW_REMOVE_SIZE = 17 };
#define RAW_RECORD_MAX (RAW_ADD_SIZE + CRAY_NAME_MAX)

/* Writes @r, which mem_is_raw(), to @out, which has RAW_RECORD_MAX bytes; returns how many. */
size_t raw_encode(uint8_t *out, const struct mem_record *r, uint64_t thread_id);

/*
 * Reads one record of the @size bytes at @in.  Returns its bytes; 0 if there are too few;
 * -1 if this is no record, with the reason in *@what.  The name stays in @in.
 */
long raw_decode(const uint8_t *in, size_t size, struct mem_record *out, uint64_t *thread_id,
		const char **what);

#endif

/* SPDX-License-Identifier: MIT */
/* varint_run.h - decode many varints of a stream at once, by the vector unit of the host. */
#ifndef MEMORY_FORMAT_VARINT_RUN_H
#define MEMORY_FORMAT_VARINT_RUN_H

#include "memory/format/block_unpack.h"

#define VARINT_RUN 64u /* bytes that are decoded together: at most 64 values */

/* True if the host has the vector unit for varint_run(). */
bool varint_run_works(void);

/*
 * Decode signed varints from @s to @out, as unpack_svarint() does, as long as there is room for
 * VARINT_RUN values.  Returns their number.  Stops before the last bytes of the stream, and before
 * a value of more than 8 bytes.
 */
uint32_t varint_run(struct unpack_stream *s, uint64_t *out, uint32_t room);

#endif

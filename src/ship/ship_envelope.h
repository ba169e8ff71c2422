/* SPDX-License-Identifier: MIT */
/*
 * ship_envelope.h - a block of a compact trace on its way to a store: head, labels, block.
 *
 *	8 bytes   magic
 *	u16 u16   version, size of the head (where the labels begin)
 *	u32       size of the labels
 *	u64       number of the block in its run
 *	u32 u32   part, parts: a large block travels in several envelopes
 *	u32       size of the block, or of this part of it
 *	u32       crc32 of zlib, of all other bytes
 *	labels    a JSON object, see ship_labels.h
 *	block     as it is in the trace's file
 *
 * All numbers are little-endian.  The last envelope of a run has no block: its labels have the
 * account of the run, and its number is the number of blocks.
 */
#ifndef SHIP_ENVELOPE_H
#define SHIP_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "trace/compact.h"

#define SHIP_VERSION    1
#define SHIP_MAGIC      "\211CTSHIP\n"
#define SHIP_MAGIC_SIZE 8

/* Limits that a sender keeps, and beyond which a receiver calls an envelope damaged. */
#define SHIP_LABELS_MAX 16384u
#define SHIP_PARTS_MAX  1024u
#define SHIP_BLOCK_MAX  (COMPACT_PAYLOAD_MAX + (uint32_t)sizeof(struct compact_block_head))

struct ship_head {
	uint8_t magic[SHIP_MAGIC_SIZE];
	uint16_t version;
	uint16_t head_size;
	uint32_t labels_size;
	uint64_t number;
	uint32_t part, parts;
	uint32_t block_size;
	uint32_t crc;
};

_Static_assert(sizeof(struct ship_head) == 40, "this is another format");
_Static_assert(offsetof(struct ship_head, crc) == 36, "this is another format");

struct ship_envelope {
	uint64_t number;
	uint32_t part, parts; /* part 0 of 1: the whole block */
	const char *labels;   /* not terminated */
	size_t labels_size;
	const uint8_t *block;
	size_t block_size;
};

/* Append the envelope to @to.  0, -ENOMEM, or -E2BIG: a limit is exceeded. */
int ship_envelope_encode(struct bytes *to, const struct ship_envelope *e);

/*
 * @data holds exactly one envelope.  The pointers in @e are into @data.  0, or -EPROTO with a
 * message in @err: this is not an envelope, it is damaged, or of a later version.
 */
int ship_envelope_decode(const void *data, size_t size, struct ship_envelope *e, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * compact_block.h - make and read the blocks of a compact trace: heads, checksums, compression.
 */
#ifndef TRACE_COMPACT_BLOCK_H
#define TRACE_COMPACT_BLOCK_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/bytes.h"
#include "trace/compact.h"

uint32_t compact_crc(const void *data, size_t size);

/* ---- write --------------------------------------------------------------- */

struct compact_packer {
	void *zstd;
	struct bytes out; /* the block that was made last */
};

struct compact_source {
	const uint8_t *data;
	size_t size;
	unsigned id;
	bool may_be_left_out; /* if all of it is zero */
};

/* All zero: an empty packer. */
void compact_packer_release(struct compact_packer *p);

/*
 * Makes a block of @head, whose checksums and sizes it sets, and the columns that are not empty.
 * 0, -ENOMEM, or -E2BIG: a column is larger than the format allows.
 */
int compact_block_make(struct compact_packer *p, struct compact_block_head *head,
		       const struct compact_source *columns, unsigned nr);

/* ---- read ---------------------------------------------------------------- */

/* False: this is not the head of a block. */
bool compact_block_head_is_valid(const struct compact_block_head *head);

struct compact_part {
	const uint8_t *data; /* NULL: the column is missing */
	size_t size;
};

struct compact_unpacker {
	void *zstd;
	struct bytes payload;
	struct bytes raw[COMPACT_COLUMNS_MAX];
	struct compact_part parts[COMPACT_COLUMNS_MAX]; /* by id: those of the block, unpacked */
};

void compact_unpacker_release(struct compact_unpacker *u);

/*
 * Reads the payload of the block at @offset of @fd and unpacks its columns.  1; 0: it is damaged;
 * or a negative errno.
 */
int compact_block_load(struct compact_unpacker *u, int fd, uint64_t offset,
		       const struct compact_block_head *head);

/* The same for a whole block in memory, whose head is copied to *@head. */
int compact_block_unpack(struct compact_unpacker *u, const void *block, size_t size,
			 struct compact_block_head *head);

/* Reads exactly @size bytes at @offset.  1; 0: the file ends before; or a negative errno. */
int compact_read_at(int fd, void *to, size_t size, uint64_t offset);

#endif

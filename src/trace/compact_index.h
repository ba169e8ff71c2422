/* SPDX-License-Identifier: MIT */
/*
 * compact_index.h - where the blocks of a compact trace are, and which of them a reader needs.
 *
 * The writer adds an entry per block and writes the index at the end.  A reader takes it from
 * there; of a file that ends without one (its writer was killed, or it grows) it reads the heads of
 * all blocks instead, and knows times and kinds but not coroutines and sites.
 */
#ifndef TRACE_COMPACT_INDEX_H
#define TRACE_COMPACT_INDEX_H

#include <stdbool.h>

#include "base/bytes.h"
#include "trace/compact_block.h"

#define COMPACT_NO_SET UINT32_MAX

struct compact_encoder;

/* All zero: an empty index. */
struct compact_index {
	struct compact_entry *entries;
	uint32_t nr, room;
	struct bytes sets;
};

void compact_index_release(struct compact_index *index);

/* Adds a block that begins at @offset.  False: no memory. */
bool compact_index_add(struct compact_index *index, const struct compact_block_head *head,
		       uint64_t offset);

/* The coroutines and sites of the block that was added last, from its encoder. */
void compact_index_add_sets(struct compact_index *index, struct compact_encoder *e);

/* The columns of the index block. */
void compact_index_columns(const struct compact_index *index, struct compact_source columns[2]);

/*
 * Reads the index that the end record of a file of @size bytes points to.  1; 0: there is none, or
 * it is damaged; or a negative errno.
 */
int compact_index_read(struct compact_index *index, struct compact_unpacker *u, int fd,
		       uint64_t size);

/* Counts of a scan. */
struct compact_scan {
	uint64_t at;      /* where the next block begins, or would begin */
	uint64_t next;    /* number of the next block */
	uint64_t skipped; /* bytes that are no block, between blocks */
	uint64_t damaged; /* places with such bytes */
	uint64_t missing; /* blocks, by their numbers */
	bool torn;        /* bytes after the last whole block, which are no end record */
	bool ended;       /* the end record was found */
};

/*
 * Adds the blocks from scan->at up to @size.  @grows: what is behind the last whole block may be a
 * block that is being written.  0 or a negative errno.
 */
int compact_index_scan(struct compact_index *index, struct compact_scan *scan, int fd,
		       uint64_t size, bool grows);

/* False: the block certainly has no event of coroutine @id, or at none of the @nr sites. */
bool compact_index_has_coroutine(const struct compact_index *index, uint32_t entry, uint64_t id);
bool compact_index_has_site(const struct compact_index *index, uint32_t entry,
			    const uint32_t *sites, size_t nr);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ship_follow.h - the next whole block of a compact trace that grows or has ended.
 *
 * Blocks come with their bytes as they are in the file, checked by both checksums.  The index at
 * the end is not a block to ship.  What is damaged or missing is counted: the heads of the blocks
 * behind it say how many events there were.
 */
#ifndef SHIP_FOLLOW_H
#define SHIP_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "trace/compact_index.h"

struct ship_block {
	struct compact_block_head head;
	uint64_t offset;     /* in the file */
	const uint8_t *data; /* with the head; valid until the next call */
	size_t size;
};

/* What could not be read. */
struct ship_damage {
	uint64_t places;      /* damaged blocks, and bytes that are no block */
	uint64_t blocks;      /* damaged, or missing by their numbers */
	uint64_t transitions; /* in these */
	uint64_t others;
};

struct ship_follow {
	int fd;
	char *path;
	struct compact_index index; /* blocks that were found and not returned yet */
	struct compact_scan scan;
	uint32_t entry;
	struct bytes bytes;
	uint64_t next;                /* number of the block after the last one */
	uint64_t transitions, others; /* in the blocks up to the last one, missing ones too */
	struct ship_damage damage;
	bool may_grow;
	bool ended; /* the writer has closed the file, or was killed */
};

/*
 * @may_grow: wait for more blocks while a collector holds the lock on the file; a file that is not
 * locked has ended.
 */
int ship_follow_open(struct ship_follow *f, const char *path, bool may_grow, struct err *err);

/* Where to go on, before the first ship_follow_next(): offset and counts behind a block. */
struct ship_place {
	uint64_t offset; /* 0: at the start */
	uint64_t next;
	uint64_t transitions, others;
};
void ship_follow_seek(struct ship_follow *f, const struct ship_place *place);

/* The place behind @block, which was the last one. */
struct ship_place ship_place_behind(const struct ship_block *block);

/* 1: *@block is the next one; 0: the trace has ended; -EAGAIN: not yet; or a negative errno. */
int ship_follow_next(struct ship_follow *f, struct ship_block *block, struct err *err);

/* The same without the bytes, and without a look at them: block->data is NULL. */
int ship_follow_head(struct ship_follow *f, struct ship_block *block, struct err *err);

/*
 * Read the bytes of a block that ship_follow_head() returned.  1; 0: it is damaged, which is not
 * counted; or a negative errno.
 */
int ship_follow_load(struct ship_follow *f, struct ship_block *block, struct err *err);

/* Safe on a struct that is all zero, or was closed. */
void ship_follow_close(struct ship_follow *f);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * newest_blocks.h - the newest blocks of a trace, in memory until the file is completed.
 *
 * For traces that keep only their end: the file is written as a whole each time that it is
 * completed.
 */
#ifndef RUNTIME_MEMORY_NEWEST_BLOCKS_H
#define RUNTIME_MEMORY_NEWEST_BLOCKS_H

#include "container_writer.h"

struct cray_newest {
	uint8_t *kept; /* consecutive blocks, the oldest at `oldest`; NULL: not in use */
	uint64_t size;
	uint64_t oldest, newest; /* positions increase monotonically */
	uint64_t *seqs;          /* next block number of each thread, while the file is written */
	struct cray_maker *maker;
};

/* False: no memory. */
bool cray_newest_open(struct cray_newest *n, uint64_t size);
void cray_newest_close(struct cray_newest *n);

/* Keep the block in @m.  Overwritten blocks are counted as lost in @w. */
void cray_newest_keep(struct cray_newest *n, struct cray_writer *w, const struct cray_maker *m);

/* Write the file again, with all blocks that are kept, and complete it. */
bool cray_newest_complete(struct cray_newest *n, struct cray_writer *w);

#endif

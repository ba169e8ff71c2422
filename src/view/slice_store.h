/* SPDX-License-Identifier: MIT */
/*
 * slice_store.h - all slices of a trace, in blocks, in order of arrival.
 *
 * The block being filled is in memory, the others are in an unnamed temporary file (TMPDIR, else
 * /var/tmp), created with the second block.  A slice is added when it begins; its end is written
 * later, in whichever block the slice is.
 */
#ifndef VIEW_SLICE_STORE_H
#define VIEW_SLICE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SPOOL_BLOCK 32768u /* slices per block */
#define SPOOL_BITS  8192u  /* size of a block's set of coroutines */

enum slice_flag {
	SLICE_OPEN = 1,     /* still running */
	SLICE_NO_START = 2, /* its resume is not in the trace */
	SLICE_LAST = 4,     /* the coroutine ended in it */
	SLICE_CUT = 8,      /* resumed again before it was suspended */
	SLICE_HAS_RESOURCE = 16,
	SLICE_MEASURED = 32, /* its processor time is known; only in sections */
};

/* One interval of a coroutine running on a thread. */
struct slice {
	uint64_t start, end;
	uint64_t wake; /* time of the wake before it; 0: not recorded */
	uint64_t resource;
	uint32_t coro, thread;
	uint32_t number; /* among the slices of its coroutine, from 0 */
	uint32_t site;
	uint32_t waker, wake_thread; /* 1 + number; 0: none */
	uint8_t flags, reason;
};

struct spool_block {
	uint64_t from, last, to; /* first and last start, latest end */
	uint32_t nr;
	uint8_t coros[SPOOL_BITS / 8]; /* bit number % SPOOL_BITS: the coroutine has a slice here */
};

struct spool {
	struct slice *current; /* the block being filled */
	struct spool_block *blocks;
	size_t nr_blocks, room;
	uint64_t nr; /* slices in total */
	int fd;
};

/* 0 or -ENOMEM. */
int spool_init(struct spool *s);

/*
 * Returns the number of the new slice in *@number. 0 or a negative errno, with a message in @err.
 */
int spool_add(struct spool *s, const struct slice *slice, uint64_t *number, struct err *err);

/* Store the end of slice @number; @slice is the complete slice. */
int spool_end(struct spool *s, uint64_t number, const struct slice *slice, struct err *err);

/* The slices of a block, sorted by start; freed by the caller.  NULL with a message in @err. */
struct slice *spool_read(struct spool *s, size_t block, struct err *err);

static inline void spool_mark(uint8_t *bits, uint32_t coro)
{
	bits[coro % SPOOL_BITS / 8] |= (uint8_t)(1u << coro % 8);
}

void spool_release(struct spool *s);

#endif

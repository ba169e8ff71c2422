/* SPDX-License-Identifier: MIT */
/*
 * spool.h - all slices of a trace, in blocks, in order of their coming.
 *
 * The block that is being filled is in memory, the others in a temporary file without a
 * name (TMPDIR, else /var/tmp), made when there is a second one.  A slice goes in when it begins;
 * what ended it is put in later, wherever it lies by then.
 */
#ifndef VIEW_SPOOL_H
#define VIEW_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define SPOOL_BLOCK 32768u /* slices */
#define SPOOL_BITS  8192u  /* of a block's set of coroutines */

enum slice_flag {
	SLICE_OPEN = 1,     /* still running */
	SLICE_NO_START = 2, /* its resume was not told */
	SLICE_LAST = 4,     /* the coroutine ended with it */
	SLICE_CUT = 8,      /* resumed again before it was suspended */
	SLICE_HAS_RESOURCE = 16,
};

/* A coroutine running on a thread. */
struct slice {
	uint64_t start, end;
	uint64_t wake; /* when it was woken for this; 0: not told */
	uint64_t resource;
	uint32_t coro, thread;
	uint32_t number; /* among its coroutine's, from 0 on */
	uint32_t site;
	uint32_t waker, wake_thread; /* 1 + number; 0: none */
	uint8_t flags, reason;
};

struct spool_block {
	uint64_t from, last, to; /* first and last start, latest end */
	uint32_t nr;
	uint8_t coros[SPOOL_BITS / 8]; /* bit number % SPOOL_BITS: has a slice here */
};

struct spool {
	struct slice *current; /* block that is being filled */
	struct spool_block *blocks;
	size_t nr_blocks, room;
	uint64_t nr; /* slices */
	int fd;
};

/* 0 or -ENOMEM. */
int spool_init(struct spool *s);

/* The number of the new slice in *@number.  0 or a negative errno, with words. */
int spool_add(struct spool *s, const struct slice *slice, uint64_t *number, struct err *err);

/* Slice @number as it was given to spool_add(), with its end. */
int spool_end(struct spool *s, uint64_t number, const struct slice *slice, struct err *err);

/* The slices of a block, in order of their start; the caller frees.  NULL and words. */
struct slice *spool_read(struct spool *s, size_t block, struct err *err);

static inline void spool_mark(uint8_t *bits, uint32_t coro)
{
	bits[coro % SPOOL_BITS / 8] |= (uint8_t)(1u << coro % 8);
}

void spool_release(struct spool *s);

#endif

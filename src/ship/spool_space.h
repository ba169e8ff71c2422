/* SPDX-License-Identifier: MIT */
/* spool_space.h - give the space of blocks that have arrived back to the file system. */
#ifndef SHIP_SPOOL_SPACE_H
#define SHIP_SPOOL_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* All zero: nothing is given back. */
struct spool_space {
	bool is_open;
	int fd;
	uint64_t begin;     /* the first block ends there and stays: it says whose trace this is */
	uint64_t freed;     /* everything from begin up to here was given back */
	struct err refused; /* why nothing is given back; code 0: it is */
};

/* Failures are kept in space->refused. */
void spool_space_open(struct spool_space *space, const char *path, uint64_t begin);
void spool_space_close(struct spool_space *space);

/* No byte before @to is needed any more, but for the first block. */
void spool_space_free(struct spool_space *space, uint64_t to);

/* The bytes from @from to @to are not needed any more.  @ctx is the space. */
void spool_space_punch(void *ctx, uint64_t from, uint64_t to);

#endif

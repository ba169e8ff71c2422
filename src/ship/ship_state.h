/* SPDX-License-Identifier: MIT */
/*
 * ship_state.h - the progress of shipping a trace, in TRACE.shipped: where to go on, and counts.
 *
 * A JSON object, replaced by a rename.  Other commands read the counts while a run is shipped.
 */
#ifndef SHIP_STATE_H
#define SHIP_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ship/ship_labels.h"
#include "ship/ship_spool.h"

#define SHIP_STATE_SUFFIX ".shipped"
#define SHIP_PENDING_MAX  4096u

struct ship_state {
	struct ship_labels labels;
	char receiver[512];      /* URL without password */
	struct ship_place place; /* all blocks before it have arrived or were given up, but for */
	uint64_t pending[SHIP_PENDING_MAX]; /* the blocks at these offsets */
	uint32_t nr_pending;
	struct ship_count shipped, spooled, given_up, left_out;
	uint64_t whole_blocks; /* further blocks that were made: see ship_whole.h */
	bool is_finished;      /* the account of the run has arrived, too */
	char trouble[512];     /* why nothing arrives at the moment; empty: all is well */
};

/* "TRACE.shipped"; the caller frees it; NULL: no memory. */
char *ship_state_path(const char *trace);

/* 1; 0: there is no such file; or a negative errno: it cannot be read, or is damaged. */
int ship_state_read(struct ship_state *state, const char *path, struct err *err);

int ship_state_write(const struct ship_state *state, const char *path, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * top.h - a running program's coroutines in a terminal.
 *
 * The terminal is left as it was found, however it ends.  A run that is over stays on the
 * screen as it was last seen.
 */
#ifndef VIEW_TOP_H
#define VIEW_TOP_H

#include "view/top_rows.h"

#define TOP_INTERVAL_LEAST_MS 100u
#define TOP_INTERVAL_MOST_MS  60000u

struct top_options {
	uint32_t interval_ms;
	struct top_choice choice; /* to begin with */
};

/*
 * Show @source until the user has seen enough.  0, or -errno and words; *@sig is the signal
 * that ended it, 0: the user did.
 */
int top_run(struct top_source *source, const struct top_options *options, int *sig,
	    struct err *err);

/* The version of ncurses that this was built with; NULL: without. */
const char *top_library(void);

#endif

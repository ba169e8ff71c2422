/* SPDX-License-Identifier: MIT */
/*
 * top.h - show the coroutines of a running program in a terminal.
 *
 * The terminal is restored on every exit.  A run that is over stays on the screen as it was last
 * seen.
 */
#ifndef TOP_TOP_H
#define TOP_TOP_H

#include "top/top_rows.h"

#define TOP_INTERVAL_LEAST_MS 100u
#define TOP_INTERVAL_MOST_MS  60000u

struct top_options {
	uint32_t interval_ms;
	struct top_choice choice; /* initial choice */
};

/*
 * Show @source until the user quits. 0, or a negative errno with a message in @err; *@sig is the
 * signal that ended it, 0: the user quit.
 */
int top_run(struct top_source *source, const struct top_options *options, int *sig,
	    struct err *err);

/* The version of ncurses that this was built with; NULL: built without it. */
const char *top_library(void);

#endif

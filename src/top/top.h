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

/* What the screen lists. */
enum top_view {
	TOP_VIEW_AUTO, /* kinds, if there are more coroutines than lines */
	TOP_VIEW_KINDS,
	TOP_VIEW_PLACES,
	TOP_VIEW_RESOURCES,
	TOP_VIEW_TREE, /* coroutines below the ones that await or created them */
	TOP_VIEW_ROWS, /* coroutines */
	NR_TOP_VIEWS,
};

struct top_options {
	uint32_t interval_ms;
	enum top_view view;
	bool ends_program;        /* the program ends with the screen */
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

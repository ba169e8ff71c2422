/* SPDX-License-Identifier: MIT */
/*
 * html.h - a view as one file that a browser opens from disk.
 *
 * The file is kept below a size.  What does not fit is left out by rule, and said: summaries
 * of all coroutines, the levels of detail and what findings are about stay longest; whole
 * blocks of slices go first, those far from any finding before the others.
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdio.h>

#include "view/view_data.h"

#define HTML_SIZE     UINT64_C(40000000) /* unless asked for otherwise: below 40 MB */
#define HTML_SIZE_MIN UINT64_C(1048576)

struct html_page {
	const unsigned char *data;
	size_t size;
};

struct html_result {
	uint64_t bytes; /* of the file */
	struct view_thinned thinned[VIEW_THINNED_MAX];
	size_t nr_thinned;
};

/* @v is finished.  0 or a negative errno, with words. */
int html_write(struct view *v, const struct html_page *page, uint64_t max_size, FILE *out,
	       struct html_result *result, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * html.h - write a view as one file that a browser opens from disk.
 *
 * The file is kept below a size limit.  Data that does not fit is omitted by fixed rules, and the
 * page says so: the summaries of all coroutines, the levels of detail and the subjects of findings
 * are kept longest; whole blocks of slices are omitted first, those far from any finding before
 * others.
 */
#ifndef VIEW_HTML_H
#define VIEW_HTML_H

#include <stdio.h>

#include "page/page.h"
#include "view/note_list.h"
#include "view/view_data.h"

#define HTML_SIZE     UINT64_C(40000000) /* default: below 40 MB */
#define HTML_SIZE_MIN UINT64_C(1048576)

struct html_result {
	uint64_t bytes; /* size of the file */
	struct view_thinned thinned[VIEW_THINNED_MAX];
	size_t nr_thinned;
};

/* @v must be finished. 0 or a negative errno, with a message in @err. */
int html_write(struct view *v, const struct html_page *page, uint64_t max_size, FILE *out,
	       struct html_result *result, struct err *err);

/* The same with notes of an earlier page; NULL: none. */
int html_write_noted(struct view *v, const struct html_page *page, const struct note_list *notes,
		     uint64_t max_size, FILE *out, struct html_result *result, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* html_notes.h - notes of an earlier page for the page that `corotracer html` writes. */
#ifndef TOOL_HTML_NOTES_H
#define TOOL_HTML_NOTES_H

#include "view/note_list.h"
#include "view/view_data.h"

struct html_notes {
	struct note_list list;
	const char *from; /* the file that they are from; NULL: there are none */
	bool is_replaced; /* that file is the one that will be replaced */
};

/*
 * Notes of @given, or, if that is NULL, of the page @output that is about to be replaced: what a
 * reader wrote is not lost by making the page again.  0 or a negative errno.
 */
int html_notes_load(struct html_notes *n, const char *given, const char *output, struct err *err);

/*
 * After the trace was read: notes that are to be kept must be of this trace.  Says on standard
 * error what does not fit.
 */
int html_notes_check(const struct html_notes *n, const struct view *v, const char *command,
		     bool quiet, struct err *err);

#endif

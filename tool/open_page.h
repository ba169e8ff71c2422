/* SPDX-License-Identifier: MIT */
/*
 * open_page.h - show a URL in the user's browser without exposing it to other users.
 *
 * All users of a machine can read the arguments of a process, so the URL, which contains the
 * secret, must not be an argument.  The browser gets the name of a file instead, which only this
 * user can read and which redirects to the URL.
 */
#ifndef TOOL_OPEN_PAGE_H
#define TOOL_OPEN_PAGE_H

#include <limits.h>

#include "base/err.h"

/* All zero: no file exists. */
struct open_page {
	char folder[PATH_MAX];
	char file[PATH_MAX];
};

/* 0 if the browser was started; whether it opens the page is not known. */
int open_page_show(struct open_page *o, const char *url, struct err *err);

/* Remove the file.  May be called again. */
void open_page_remove(struct open_page *o);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * open_page.h - show a URL in the user's browser, and to nobody else.
 *
 * All users of a machine can read the words of a command, so the URL, which has the secret in it,
 * cannot be one of them.  The browser is given the name of a file instead that only this user
 * can read, and that leads on to the URL.
 */
#ifndef TOOL_OPEN_PAGE_H
#define TOOL_OPEN_PAGE_H

#include <limits.h>

#include "base/err.h"

/* All zero: there is no file. */
struct open_page {
	char folder[PATH_MAX];
	char file[PATH_MAX];
};

/* 0 when the browser was asked; whether it follows is not known here. */
int open_page_show(struct open_page *o, const char *url, struct err *err);

/* The file has been used, or will not be.  May be called again. */
void open_page_remove(struct open_page *o);

#endif

/* SPDX-License-Identifier: MIT */
/* why_page.h - `corotracer why --html`: the result as one page for a browser. */
#ifndef TOOL_WHY_PAGE_H
#define TOOL_WHY_PAGE_H

#include "base/err.h"
#include "inspect/inspection.h"

#define WHY_PAGE "why" /* name of the page, see page.h */

/* Negative if this build has no pages: to be called before a long look. */
int why_page_check(struct err *err);

/*
 * Write the object of `why --json` as a page to @path ("-": standard output), and say so.  @locals:
 * with variables; @show_values: also the contents of strings.
 */
int why_page_save(struct inspection *in, const char *path, bool locals, bool show_values,
		  struct err *err);

#endif

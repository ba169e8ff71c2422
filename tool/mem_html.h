/* SPDX-License-Identifier: MIT */
/* mem_html.h - parts of the page of `mem html` that `mem sim` does not print, in JSON only. */
#ifndef TOOL_MEM_HTML_H
#define TOOL_MEM_HTML_H

#include "base/printer.h"
#include "memory/calls/call_profile.h"

/* Functions, the @top most expensive of each order, and the flame graph. */
void mem_html_calls(struct printer *p, const struct call_profile *c, unsigned top);

/* The source around the most expensive lines, with the counts of each line. */
void mem_html_sources(struct printer *p, const struct call_profile *c);

#endif

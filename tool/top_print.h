/* SPDX-License-Identifier: MIT */
/* top_print.h - print one picture of a running program, for scripts or without a terminal. */
#ifndef TOOL_TOP_PRINT_H
#define TOOL_TOP_PRINT_H

#include "top/top_rows.h"

/* Print at most @limit coroutines. 0, or a negative errno of the output. */
int top_print_json(const struct top_source *s, const struct top_picture *p,
		   const struct top_rows *rows, size_t limit);
int top_print_text(const struct top_picture *p, const struct top_rows *rows,
		   struct top_places *places, size_t limit);

#endif

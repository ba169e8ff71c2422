/* SPDX-License-Identifier: MIT */
/* mem_layout.h - print the result of a layout study. */
#ifndef TOOL_MEM_LAYOUT_H
#define TOOL_MEM_LAYOUT_H

#include "base/printer.h"
#include "memory/layout/advise.h"

struct mem_layout_result {
	const char *path;
	const char *machine; /* source of the machine's configuration */
	const struct study *study;
};

/* Print on stdout. */
void mem_layout_print(const struct mem_layout_result *r, bool json);

/* ---- parts, in text only ----------------------------------------------------- */

/* What was tried for a type, and what is advised. */
void mem_layout_print_advice(struct printer *p, const struct study *s, const struct study_type *t);

/* The declaration of a layout, for the user to paste. */
void mem_layout_print_shape(struct printer *p, const struct shape *shape, uint32_t line);

/* "L1 misses  1,234 -> 567  -54.1 %" */
void mem_layout_print_change(struct printer *p, const char *what, uint64_t before, uint64_t after);

#endif

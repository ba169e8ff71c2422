/* SPDX-License-Identifier: MIT */
/* inspect_print.h - print an inspection as text or JSON. */
#ifndef INSPECT_INSPECT_PRINT_H
#define INSPECT_INSPECT_PRINT_H

#include "base/printer.h"
#include "inspect/inspection.h"

struct inspect_print_options {
	size_t groups_max; /* 0: all */
	bool locals;       /* the variables of the coroutines */
	bool show_values;  /* ... with the contents of strings and buffers */
	size_t locals_max; /* JSON: members of a group with variables; 0: all */
};

/* A level of a stack: a line of text after @indent; @is_leaf: the innermost one. */
void print_place(struct printer *p, const struct inspect_place *at, const char *indent,
		 bool is_leaf);

void inspection_print(struct inspection *in, struct printer *p,
		      const struct inspect_print_options *options);

#endif

/* SPDX-License-Identifier: MIT */
/* local_print.h - print the variables of a coroutine as text or JSON. */
#ifndef INSPECT_LOCAL_PRINT_H
#define INSPECT_LOCAL_PRINT_H

#include "base/printer.h"
#include "inspect/local_values.h"

/* The list "locals" of a level of the stack that was read last. */
void print_locals(const struct local_values *values, struct printer *p, size_t level);

/* JSON: the list "member_locals" with the variables of the members, at most @max. */
void print_member_locals(struct local_values *values, struct printer *p,
			 const struct inspect_group *group, size_t max);

#endif

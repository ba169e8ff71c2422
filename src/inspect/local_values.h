/* SPDX-License-Identifier: MIT */
/*
 * local_values.h - the variables of suspended coroutines, read from the process when they are
 * printed.
 *
 * The memory of a coroutine is copied before and after its variables are read; if it has changed,
 * the coroutine ran, and nothing is shown of it.
 */
#ifndef INSPECT_LOCAL_VALUES_H
#define INSPECT_LOCAL_VALUES_H

#include "inspect/inspection.h"
#include "symbols/local_tree.h"

struct local_values;

/* @show_values: contents of strings and buffers as well.  NULL: no memory. */
struct local_values *local_values_new(struct inspection *in, bool show_values);

/*
 * Read the variables of the coroutines of member @number of @group, innermost first.  Returns how
 * many coroutines the stack has; they are valid until the next call.
 */
size_t local_values_read(struct local_values *values, const struct inspect_group *group,
			 size_t number);

/* The variables of a coroutine of the last stack; *@problem is why there are none, or NULL. */
const struct local_tree *local_values_tree(const struct local_values *values, size_t level,
					   const char **problem);

/* Accepts NULL. */
void local_values_free(struct local_values *values);

#endif

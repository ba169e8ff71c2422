/* SPDX-License-Identifier: MIT */
/* tokio_groups.h - Tokio's tasks as groups of an inspection. */
#ifndef INSPECT_TOKIO_GROUPS_H
#define INSPECT_TOKIO_GROUPS_H

#include "base/printer.h"
#include "inspect/inspection.h"

/* Add a group per stack of in->tokio, and sort its tasks by stack.  0 or -ENOMEM. */
int tokio_groups_make(struct inspection *in);

/* Add the tasks to the counts of the inspection. */
void tokio_tasks_count(struct inspection *in);

struct inspect_place tokio_place(const struct rust_place *place);

/* "waits_for" of a group of tasks. */
void print_tokio_wait(struct inspection *in, struct printer *p, const struct inspect_group *g);

#endif

/* SPDX-License-Identifier: MIT */
/* tokio_branches.h - print the futures that a task awaits together: select!, join!, sets. */
#ifndef INSPECT_TOKIO_BRANCHES_H
#define INSPECT_TOKIO_BRANCHES_H

#include "base/printer.h"
#include "inspect/inspection.h"

/* In text a few lines, each after @indent; in JSON "branches".  Nothing if there are none. */
void print_tokio_branches(struct printer *p, const struct rust_place *place, const char *indent);

#endif

/* SPDX-License-Identifier: MIT */
/* fleet_print.h - print the answer to a question about the fleet, as a table or as JSON. */
#ifndef TOOL_FLEET_PRINT_H
#define TOOL_FLEET_PRINT_H

#include <stdio.h>

#include "fleet/fleet_ask.h"

/* 0, or a negative errno of the output. */
int fleet_print_text(const struct fleet_ask *ask, const struct fleet_answer *answer, FILE *out);
int fleet_print_json(const struct fleet_ask *ask, const struct fleet_answer *answer, FILE *out);

#endif

/* SPDX-License-Identifier: MIT */
/* run_unconnected.h - print which processes have the SDK and did not connect, and why. */
#ifndef TOOL_RUN_UNCONNECTED_H
#define TOOL_RUN_UNCONNECTED_H

#include <stdbool.h>

#include "base/printer.h"
#include "collect/collector.h"

/* True if the run failed because of it: no process connected, and one wanted to and could not. */
bool run_unconnected_failed(const struct collector_result *r);

/* Lines on stderr, each with a hint if there is one. */
void run_unconnected_text(const struct collector_result *r);

/* "unconnected": one object per process. */
void run_unconnected_json(struct printer *p, const struct collector_result *r);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * ship_watch.h - find the coroutines with findings in a trace that is shipped and may grow.
 */
#ifndef TOOL_SHIP_WATCH_H
#define TOOL_SHIP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

/* Watch @trace from its start; an earlier watch ends. */
void ship_watch_begin(const char *trace);

/* For struct shipper_config: report coroutines with findings of what the trace has now. */
void ship_watch_look(bool has_ended, void (*found)(void *arg, uint64_t probe_id), void *arg);

void ship_watch_end(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * run_awaits.h - where futures wait that do not say it (`run --awaits`).
 *
 * A Rust program cannot tell at which .await a future is suspended; its memory and its debug
 * information do.  `corotracer why` looks at the program in a process of its own, again and again,
 * for at most a twentieth of the time.  What a look found of a coroutine is the place of its wait
 * if the wait began before the look, and has not ended.
 */
#ifndef TOOL_RUN_AWAITS_H
#define TOOL_RUN_AWAITS_H

#include <stdbool.h>
#include <sys/types.h>

#include "trace/item.h"

/* Begin to look.  False: no thread for it. */
bool run_awaits_begin(void);

/* Look at this process, too; collector_config.connected. */
void run_awaits_connected(pid_t pid);

/* collector_config.await_of */
bool run_awaits_find(const struct sidecar_coroutine *coroutine, struct trace_site *site);

/* Why no look succeeded, though the program ran; NULL: one did, or there was none. */
const char *run_awaits_missing(void);

/* End the looks, and forget what they found. */
void run_awaits_end(void);

#endif

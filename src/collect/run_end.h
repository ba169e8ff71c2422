/* SPDX-License-Identifier: MIT */
/* run_end.h - when a run ended. */
#ifndef COLLECT_RUN_END_H
#define COLLECT_RUN_END_H

#include <stdint.h>

#include "collect/wake_socket.h"
#include "process/launch.h"
#include "process/signals.h"

/*
 * End of the run that began at @start_ns: the exit of the last traced process, or now if one still
 * runs.  The time that the collector needs to read the rest does not extend the run.
 */
uint64_t collected_until(struct signals *signals, const struct endpoint *e,
			 const struct launch *launch, uint64_t start_ns);

#endif

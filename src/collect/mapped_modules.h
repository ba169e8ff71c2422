/* SPDX-License-Identifier: MIT */
/*
 * mapped_modules.h - programs and libraries that a traced process has mapped.
 *
 * Needed to resolve addresses to functions later.  Read from outside, from /proc/PID/maps and
 * the ELF files: the process does nothing for it.  Without permission, or after the process has
 * ended, the list stays empty.
 */
#ifndef COLLECT_MAPPED_MODULES_H
#define COLLECT_MAPPED_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "base/u64map.h"
#include "trace/item.h"

/* Further modules are counted, and not recorded. */
#define MODULES_PER_PROCESS 512
#define MODULES_MAX         16384 /* of all processes */

/* All zero: an empty list. */
struct modules {
	struct sidecar_module *list; /* of all processes, in the order they were found */
	size_t nr, room;
	uint64_t nr_left_out;      /* beyond the limits: the most that each process had at a time */
	struct u64map left_out_of; /* the same of each process */
};

/* Add the new modules of @pid.  Returns the number of modules; without memory some are missing. */
size_t modules_read(struct modules *m, uint32_t pid);

void modules_release(struct modules *m);

#endif

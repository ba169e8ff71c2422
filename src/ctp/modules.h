/* SPDX-License-Identifier: MIT */
/*
 * modules.h - programs and libraries that a traced process has mapped, for whoever wants
 * to know later which function an address was in.
 *
 * Read from outside, /proc/PID/maps and the heads of the files: the process does nothing
 * for it.  Where that is not allowed, or the process is gone, there are none.
 */
#ifndef CTP_MODULES_H
#define CTP_MODULES_H

#include <stddef.h>
#include <stdint.h>

#include "trace/item.h"

/* A process may map very many files; more than that are left out. */
#define MODULES_PER_PROCESS 512
#define MODULES_MAX         16384 /* of all */

/* All zero is none. */
struct modules {
	struct sidecar_module *list; /* of all processes, as they were found */
	size_t nr, room;
};

/* Add those of @pid that are not in yet.  How many there are now; memory that lacks is no error. */
size_t modules_read(struct modules *m, uint32_t pid);

void modules_release(struct modules *m);

#endif

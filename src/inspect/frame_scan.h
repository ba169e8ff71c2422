/* SPDX-License-Identifier: MIT */
/* frame_scan.h - find coroutine frames in the memory of a process. */
#ifndef INSPECT_FRAME_SCAN_H
#define INSPECT_FRAME_SCAN_H

#include "inspect/frame_table.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"

/* Find all frames; @table is sealed.  0 or a negative errno. */
int frame_scan(struct process_image *image, struct coro_types *types, struct frame_table *table,
	       struct err *err);

#endif

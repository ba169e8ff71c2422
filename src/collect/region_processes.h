/* SPDX-License-Identifier: MIT */
/* region_processes.h - the processes that wrote into a region: which of them still run. */
#ifndef COLLECT_REGION_PROCESSES_H
#define COLLECT_REGION_PROCESSES_H

#include "collect/region_inspect.h"

/* Fill in r->processes, in the order of their pids.  @path: of the region; @pids: their keys. */
void recover_find_processes(struct recover *r, const char *path, const struct u64map *pids);

#endif

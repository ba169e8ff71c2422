/* SPDX-License-Identifier: MIT */
/*
 * region_list.h - list the regions of this user: of running collectors, and left behind.
 *
 * A collector locks its region as long as it runs.  A killed collector leaves its directory,
 * and with it all events that its programs had written.
 */
#ifndef COLLECT_REGION_LIST_H
#define COLLECT_REGION_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct found_region {
	char *path;             /* path of the region */
	bool live;              /* a collector holds its lock */
	uint32_t collector_pid; /* as stored in the region; 0: unknown */
	uint64_t bytes;         /* memory in use */
	time_t made;
};

struct found {
	struct found_region *at;
	size_t nr;
};

/*
 * All regions in the directories where region.c creates them, oldest first: in directories of
 * their own, or files that were named with --shm.
 */
int find_regions(struct found *found, struct err *err);
void found_release(struct found *found);

/* True if a collector holds the lock of the region open as @fd. */
bool region_is_live(int fd);

/*
 * Remove a region that a collector left behind: its files, and its directory if a collector
 * created it.  Fails while a collector holds the region.
 */
int region_remove(const char *path, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * find.h - the regions of this user: those of running collectors, and those left behind.
 *
 * A collector holds a lock on its region as long as it lives.  One that was killed
 * leaves its directory, and with it everything that its programs had written.
 */
#ifndef CTP_FIND_H
#define CTP_FIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "base/err.h"

struct found_region {
	char *path;             /* of the region */
	bool live;              /* a collector has it */
	uint32_t collector_pid; /* as the region says; 0: it does not */
	uint64_t bytes;         /* of memory that it takes */
	time_t made;
};

struct found {
	struct found_region *at;
	size_t nr;
};

/* All in the places where region.c makes directories, the newest last. */
int find_regions(struct found *found, struct err *err);
void found_release(struct found *found);

/* Does a collector have the region that is open as @fd? */
bool region_is_live(int fd);

/*
 * Remove a region that was left behind: its files, and its directory if it is one of
 * ours.  Refuses while a collector has it.
 */
int region_remove(const char *path, struct err *err);

#endif

/* SPDX-License-Identifier: MIT */
/* shared_region.h - the shared memory of `mem run`: a file in a private directory, removed at the
 * end. */
#ifndef MEMORY_COLLECT_SHARED_REGION_H
#define MEMORY_COLLECT_SHARED_REGION_H

#include "base/err.h"
#include "ring_read.h"

struct shm {
	char *dir, *path;
	int fd;
	void *map;
	uint64_t size;
	struct crw_region region;
};

int shm_create(struct shm *m, const struct crw_geometry *wanted, struct err *err);
void shm_close(struct shm *m);

#endif

/* SPDX-License-Identifier: MIT */
/* shm.h - the shared memory of `mem run`: a file in a private directory, removed at the end. */
#ifndef MEMORY_SHM_H
#define MEMORY_SHM_H

#include "base/err.h"
#include "take.h"

struct shm {
	char *dir, *path;
	int fd;
	void *map;
	uint64_t size;
	struct crw_region region;
};

int shm_create(struct shm *m, const struct crw_geometry *g, struct err *err);
void shm_close(struct shm *m);

#endif

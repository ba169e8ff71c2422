/* SPDX-License-Identifier: MIT */
/*
 * region_heritage.h - a descriptor of the region that a launched program inherits (CRW_ENV_FD).
 *
 * The path of the region is of no use to a program that another one executes with other privileges,
 * another root directory or another /dev/shm.
 */
#ifndef MEMORY_COLLECT_REGION_HERITAGE_H
#define MEMORY_COLLECT_REGION_HERITAGE_H

#include <stdbool.h>

struct region_heritage {
	int fd;      /* closed by exec; -1: none */
	char *value; /* of CRW_ENV_FD; NULL: none */
};

/* False: none could be made, and the program has the path only. */
bool region_heritage_open(struct region_heritage *h, const char *path);
void region_heritage_close(struct region_heritage *h);

#endif

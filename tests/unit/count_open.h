/* SPDX-License-Identifier: MIT */
/* count_open.h - how many descriptors this process has, to compare before and after. */
#ifndef COUNT_OPEN_H
#define COUNT_OPEN_H

#include <dirent.h>

#include "check.h"

static inline unsigned count_open(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (d && readdir(d))
		nr++;
	CHECK(d && !closedir(d));
	return nr;
}

#endif

/* SPDX-License-Identifier: MIT */
/* count_open.h - how many descriptors and mappings this process has, to compare before and after.
 */
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

/* Mappings of files with @part in their path. */
static inline unsigned count_mapped(const char *part)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[4200];
	unsigned nr = 0;

	while (f && fgets(line, sizeof(line), f))
		nr += strchr(line, '/') && strstr(strchr(line, '/'), part);
	CHECK(f && !fclose(f));
	return nr;
}

#endif

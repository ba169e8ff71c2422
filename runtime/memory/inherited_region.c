/* SPDX-License-Identifier: MIT */
/*
 * inherited_region.c - open the collector's region: by an inherited descriptor, or by its path.
 *
 * The program may have closed the descriptor and reused its number, and another collector may have
 * set the path: a duplicate is made, and used only if it is the file that the value describes.
 */
#include "inherited_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

/* Read a hexadecimal number and the colon behind it.  NULL: there is none. */
static const char *inherited_number(const char *at, uint64_t *number)
{
	char *end;

	if (!at)
		return NULL;
	*number = strtoull(at, &end, 16);
	return end != at && *end == ':' ? end + 1 : NULL;
}

int crt_copy_high(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, CRW_HIGH_FD);

	return copy >= 0 ? copy : fcntl(fd, F_DUPFD_CLOEXEC, 3); /* a low limit of descriptors */
}

static int inherited_duplicate(int fd, uint64_t dev, uint64_t ino)
{
	int copy = crt_copy_high(fd);
	struct stat st;

	if (copy < 0)
		return -1;
	if (fstat(copy, &st) == 0 && (uint64_t)st.st_dev == dev && (uint64_t)st.st_ino == ino)
		return copy;
	close(copy);
	return -1;
}

int crt_region_open(const char *path, const char *text)
{
	uint64_t fd = 0, dev = 0, ino = 0;
	const char *at = inherited_number(text, &fd);
	int saved = errno, copy = -1;

	at = inherited_number(at, &dev);
	at = inherited_number(at, &ino);
	if (at && fd <= INT32_MAX && !strcmp(at, path))
		copy = inherited_duplicate((int)fd, dev, ino);
	if (copy < 0)
		copy = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	errno = saved;
	return copy;
}

/* SPDX-License-Identifier: MIT */
/* region_heritage.c - a descriptor of the region that a launched program inherits (CRW_ENV_FD). */
#include "memory/collect/region_heritage.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "wire.h"

bool region_heritage_open(struct region_heritage *h, const char *path)
{
	int low = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;

	*h = (struct region_heritage){ .fd = -1 };
	if (low < 0)
		return false;
	h->fd = fcntl(low, F_DUPFD_CLOEXEC, CRW_HIGH_FD);
	close(low);
	if (h->fd >= 0 && fstat(h->fd, &st) == 0 &&
	    asprintf(&h->value, "%x:%" PRIx64 ":%" PRIx64 ":%s", (unsigned)h->fd,
		     (uint64_t)st.st_dev, (uint64_t)st.st_ino, path) >= 0)
		return true;
	h->value = NULL;
	region_heritage_close(h);
	return false;
}

void region_heritage_close(struct region_heritage *h)
{
	if (h->fd >= 0)
		close(h->fd);
	free(h->value);
	*h = (struct region_heritage){ .fd = -1 };
}

/* SPDX-License-Identifier: MIT */
/* spool_space.c - give the space of blocks that have arrived back to the file system. */
#include "ship/spool_space.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define SPOOL_PAGE UINT64_C(4096)
/* A hole of less than this is not worth a system call. */
#define SPOOL_HOLE (16 * SPOOL_PAGE)

void spool_space_open(struct spool_space *space, const char *path, uint64_t begin)
{
	memset(space, 0, sizeof(*space));
	space->fd = open(path, O_WRONLY | O_CLOEXEC);
	space->begin = space->freed = (begin + SPOOL_PAGE - 1) / SPOOL_PAGE * SPOOL_PAGE;
	space->is_open = space->fd >= 0;
	if (!space->is_open)
		err_errno(&space->refused, "cannot open '%s' to give back space", path);
}

void spool_space_close(struct spool_space *space)
{
	if (space->is_open)
		close(space->fd);
	space->is_open = false;
}

void spool_space_punch(void *ctx, uint64_t from, uint64_t to)
{
	struct spool_space *space = ctx;

	from = (from + SPOOL_PAGE - 1) / SPOOL_PAGE * SPOOL_PAGE;
	to = to / SPOOL_PAGE * SPOOL_PAGE;
	if (from < space->begin)
		from = space->begin;
	if (!space->is_open || space->refused.code || from >= to)
		return;
	if (fallocate(space->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)from,
		      (off_t)(to - from)) < 0)
		err_errno(&space->refused, "cannot give back space of the spool");
}

void spool_space_free(struct spool_space *space, uint64_t to)
{
	to = to / SPOOL_PAGE * SPOOL_PAGE;
	if (to < space->freed + SPOOL_HOLE)
		return;
	spool_space_punch(space, space->freed, to);
	space->freed = to;
}

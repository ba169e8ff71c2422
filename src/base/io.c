/* SPDX-License-Identifier: MIT */
/* io.c - read(2) and write(2) that do not stop for trifles. */
#include "base/io.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

/* Is what just failed worth another try? */
static bool again(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	if (errno == EINTR)
		return true;
	if (errno != EAGAIN && errno != EWOULDBLOCK)
		return false;
	while (poll(&p, 1, -1) < 0) {
		if (errno != EINTR)
			return false;
	}
	return true;
}

ssize_t io_read(int fd, void *buf, size_t size)
{
	ssize_t got;

	do {
		got = read(fd, buf, size);
	} while (got < 0 && again(fd, POLLIN));
	return got < 0 ? -errno : got;
}

ssize_t io_write(int fd, const void *buf, size_t size)
{
	ssize_t put;

	do {
		put = write(fd, buf, size);
	} while (put < 0 && again(fd, POLLOUT));
	if (put == 0 && size)
		return -EIO; /* nothing went, nothing failed: do not try for ever */
	return put < 0 ? -errno : put;
}

ssize_t io_write_unless(int fd, const void *buf, size_t size, bool (*stop)(void))
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	int ready;

	/* The descriptor may be shared with others, so it is not ours to make non-blocking. */
	while ((ready = poll(&p, 1, 100)) <= 0) {
		if (ready < 0 && errno != EINTR)
			break; /* write() will say */
		if (stop())
			return -ECANCELED;
	}
	/* A pipe that polls writable takes that much without waiting. */
	return io_write(fd, buf, size < PIPE_BUF ? size : PIPE_BUF);
}

bool io_is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

/* SPDX-License-Identifier: MIT */
/* io.c - read/write wrappers that retry on EINTR and EAGAIN. */
#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

/* Decide by errno whether to retry; on EAGAIN, wait until @fd is ready. */
static bool io_must_retry(int fd, short events)
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
	} while (got < 0 && io_must_retry(fd, POLLIN));
	return got < 0 ? -errno : got;
}

ssize_t io_write(int fd, const void *buf, size_t size)
{
	ssize_t put;

	do {
		put = write(fd, buf, size);
	} while (put < 0 && io_must_retry(fd, POLLOUT));
	if (put == 0 && size)
		return -EIO; /* no progress and no error: avoid an endless loop */
	return put < 0 ? -errno : put;
}

ssize_t io_pread(int fd, void *buf, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t got = pread(fd, (char *)buf + done, size - done, at + (off_t)done);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && !done)
			return -1;
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	return (ssize_t)done;
}

ssize_t io_pwrite(int fd, const void *buf, size_t size, off_t at)
{
	size_t done = 0;

	while (done < size) {
		ssize_t put = pwrite(fd, (const char *)buf + done, size - done, at + (off_t)done);

		if (put < 0 && errno == EINTR)
			continue;
		if (put == 0)
			errno = EIO;
		if (put <= 0)
			return -1;
		done += (size_t)put;
	}
	return (ssize_t)size;
}

#define IO_WAIT_MS 100

ssize_t io_write_unless(int fd, const void *buf, size_t size, bool (*stop)(unsigned waited_ms))
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };
	unsigned waited_ms = 0;
	int ready;

	/*
	 * The descriptor may be shared with other processes, so O_NONBLOCK must not be set on it.
	 */
	while ((ready = poll(&p, 1, IO_WAIT_MS)) <= 0) {
		if (ready < 0 && errno != EINTR)
			break; /* write() reports the error */
		waited_ms += IO_WAIT_MS;
		if (stop(waited_ms))
			return -ECANCELED;
	}
	/* A pipe that polls writable takes PIPE_BUF bytes without blocking. */
	return io_write(fd, buf, size < PIPE_BUF ? size : PIPE_BUF);
}

int io_end_memory(FILE *stream, char **text)
{
	bool failed = ferror(stream);

	if (fclose(stream) == 0 && !failed && *text)
		return 0;
	free(*text);
	*text = NULL;
	return -ENOMEM;
}

bool io_is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(fd, LOCK_UN);
	return false;
}

static const char *temporary_folder(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir ? dir : "/var/tmp";
}

int io_temporary(struct err *err)
{
	const char *folder = temporary_folder();
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char name[4096];

	if (fd >= 0)
		return fd;
	/* Not every file system supports O_TMPFILE. */
	if ((size_t)snprintf(name, sizeof(name), "%s/corotracer-XXXXXX", folder) < sizeof(name)) {
		fd = mkostemp(name, O_CLOEXEC);
		if (fd >= 0) {
			unlink(name);
			return fd;
		}
	}
	err_errno(err, "cannot make a temporary file in '%s'", folder);
	err_hint(err, "TMPDIR names another folder");
	return err->code;
}

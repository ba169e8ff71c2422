/* SPDX-License-Identifier: MIT */
/* io.h - read(2) and write(2) that do not stop for trifles. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * One read or write that got somewhere: repeated after a signal, waited for where
 * the descriptor does not block (someone else's O_NONBLOCK on a shared stdout).
 * Returns the bytes, 0 at the end of input, or a negative errno.
 */
ssize_t io_read(int fd, void *buf, size_t size);
ssize_t io_write(int fd, const void *buf, size_t size);

/*
 * The same to something that somebody else reads, or does not: never waits in the
 * kernel, and asks @stop now and then whether to go on waiting.  -ECANCELED if not.
 */
ssize_t io_write_unless(int fd, const void *buf, size_t size, bool (*stop)(void));

/*
 * Has somebody else a lock (flock) on the file that is open as @fd?  Asked by trying: for that
 * moment who wants it for himself alone does not get it.
 */
bool io_is_locked(int fd);

#endif

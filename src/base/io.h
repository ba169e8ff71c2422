/* SPDX-License-Identifier: MIT */
/* io.h - read/write wrappers that retry on EINTR and EAGAIN. */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"

/*
 * One read or write that makes progress: retries after a signal, and polls if the descriptor is
 * non-blocking (another process may set O_NONBLOCK on a shared stdout).  Returns the number of
 * bytes, 0 at the end of input, or a negative errno.
 */
ssize_t io_read(int fd, void *buf, size_t size);
ssize_t io_write(int fd, const void *buf, size_t size);

/*
 * As pread() and pwrite() of a file, retried after signals and short counts: less than @size only
 * at the end of the file.  -1: errno is set.
 */
ssize_t io_pread(int fd, void *buf, size_t size, off_t at);
ssize_t io_pwrite(int fd, const void *buf, size_t size, off_t at);

/*
 * As io_write(), for a reader that may stop reading: never blocks in the kernel.  While it waits,
 * it calls @stop every 100 ms and returns -ECANCELED if @stop returns true.
 */
ssize_t io_write_unless(int fd, const void *buf, size_t size, bool (*stop)(unsigned waited_ms));

/*
 * Close a stream of open_memstream(), which reports a lack of memory in three ways.  0, or -ENOMEM:
 * *@text is NULL then.  Otherwise the caller frees *@text.
 */
int io_end_memory(FILE *stream, char **text);

/*
 * True if another open file description holds an exclusive flock on the file of @fd.  The test
 * takes a shared lock for a moment: an exclusive non-blocking lock fails during that moment.
 */
bool io_is_locked(int fd);

/*
 * Create an unnamed file that disappears with its last descriptor: in TMPDIR, else in /var/tmp
 * (/tmp is memory on many machines, and these files exist to save memory).  Returns the descriptor,
 * or a negative errno with a message in @err.
 */
int io_temporary(struct err *err);

#endif

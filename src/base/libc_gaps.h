/* SPDX-License-Identifier: MIT */
/*
 * libc_gaps.h - statx(2) and renameat2(2) by their numbers: not every C library has functions for
 * them (musl 1.2.3 does not).
 */
#ifndef BASE_LIBC_GAPS_H
#define BASE_LIBC_GAPS_H

#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As statx(2). */
static inline int kernel_statx(int dir, const char *path, int flags, unsigned mask,
			       struct statx *out)
{
	return (int)syscall(SYS_statx, dir, path, flags, mask, out);
}

/* Exchange two names, in one step.  0, or -1 with errno. */
static inline int kernel_rename_exchange(const char *one, const char *two)
{
	enum { EXCHANGE = 2 }; /* RENAME_EXCHANGE: the C library's name, or none */

	return (int)syscall(SYS_renameat2, AT_FDCWD, one, AT_FDCWD, two, EXCHANGE);
}

#endif

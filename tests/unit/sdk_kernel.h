/* SPDX-License-Identifier: MIT */
/*
 * sdk_kernel.h - the C SDK in the test's own file, with calls of the kernel that fail when the test
 * says so, and with a clock of the test.
 *
 * So a test reaches every function of the slow path, and the moments at which a call fails.
 */
#ifndef SDK_KERNEL_H
#define SDK_KERNEL_H

#include <linux/membarrier.h>
#include <pthread.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#include "count_open.h"
#include "test_sdk_region.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum kernel_call {
	CALL_FSTAT,
	CALL_FALLOCATE,
	CALL_MMAP,
	CALL_MPROTECT,
	CALL_MUNMAP,
	CALL_POPULATE, /* madvise(MADV_POPULATE_WRITE) */
	CALL_PREAD,
	CALL_DUP, /* fcntl(F_DUPFD_CLOEXEC) */
	CALL_SOCKETPAIR,
	CALL_SOCKET,
	CALL_CLOSE,
	CALL_SHUTDOWN,
	CALL_CONNECT,
	CALL_MEMBARRIER,
	CALL_SEND, /* sendto() and sendmsg() */
	CALL_SLEEP,
	CALLS
};

static struct {
	int error[CALLS];
	unsigned from[CALLS]; /* this call fails, from 1, and all after it */
	unsigned nr[CALLS];   /* calls since kernel_reset() */
	uint64_t now;         /* 0: the real clock; sleeping passes the time */
	uint64_t slept[64];   /* length of each sleep */
	void (*asleep)(void); /* called during a sleep */
	size_t size;          /* of the last mmap() or munmap() */
	int prot, flags;      /* of the last mmap() */
	off_t offset, length; /* of the last fallocate() */
	int advice[8];        /* of all madvise(), in order */
	unsigned nr_advice;
	int other_fd; /* not 0: what a duplicate of a descriptor refers to */
	unsigned more_threads;
} kernel;

UNUSED static void kernel_reset(void)
{
	memset(&kernel, 0, sizeof(kernel));
}

/* The call number @from, from 1, and all later ones fail with @error. */
UNUSED static void kernel_fail(enum kernel_call call, int error, unsigned from)
{
	kernel.error[call] = error;
	kernel.from[call] = from;
	kernel.nr[call] = 0;
}

static int kernel_fails(enum kernel_call call)
{
	if (++kernel.nr[call] < kernel.from[call] || !kernel.error[call])
		return 0;
	errno = kernel.error[call];
	return 1;
}

UNUSED static int kernel_fstat(int fd, struct stat *st)
{
	return kernel_fails(CALL_FSTAT) ? -1 : fstat(fd, st);
}

/* Of /proc/self/task: the links of a folder, and one for each thread. */
UNUSED static int kernel_stat(const char *path, struct stat *st)
{
	if (strcmp(path, "/proc/self/task") != 0)
		return stat(path, st);
	st->st_nlink = 3 + kernel.more_threads;
	return 0;
}

UNUSED static int kernel_fallocate(int fd, int mode, off_t offset, off_t length)
{
	kernel.offset = offset;
	kernel.length = length;
	return kernel_fails(CALL_FALLOCATE) ? -1 : fallocate(fd, mode, offset, length);
}

UNUSED static void *kernel_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	kernel.size = size;
	kernel.prot = prot;
	kernel.flags = flags;
	return kernel_fails(CALL_MMAP) ? MAP_FAILED : mmap(at, size, prot, flags, fd, offset);
}

UNUSED static int kernel_mprotect(void *at, size_t size, int prot)
{
	return kernel_fails(CALL_MPROTECT) ? -1 : mprotect(at, size, prot);
}

UNUSED static int kernel_munmap(void *at, size_t size)
{
	kernel.size = size;
	return kernel_fails(CALL_MUNMAP) ? -1 : munmap(at, size);
}

UNUSED static int kernel_madvise(void *at, size_t size, int advice)
{
	if (kernel.nr_advice < 8)
		kernel.advice[kernel.nr_advice++] = advice;
	if (advice == MADV_POPULATE_WRITE && kernel_fails(CALL_POPULATE))
		return -1;
	return madvise(at, size, advice);
}

UNUSED static ssize_t kernel_pread(int fd, void *to, size_t size, off_t at)
{
	return kernel_fails(CALL_PREAD) ? -1 : pread(fd, to, size, at);
}

UNUSED static int kernel_fcntl(int fd, int cmd, int arg)
{
	if (cmd == F_DUPFD_CLOEXEC && kernel_fails(CALL_DUP))
		return -1;
	return fcntl(kernel.other_fd ? kernel.other_fd : fd, cmd, arg);
}

UNUSED static int kernel_socketpair(int domain, int type, int protocol, int pair[2])
{
	return kernel_fails(CALL_SOCKETPAIR) ? -1 : socketpair(domain, type, protocol, pair);
}

UNUSED static int kernel_socket(int domain, int type, int protocol)
{
	return kernel_fails(CALL_SOCKET) ? -1 : socket(domain, type, protocol);
}

UNUSED static int kernel_close(int fd)
{
	kernel.nr[CALL_CLOSE]++;
	return close(fd);
}

UNUSED static int kernel_shutdown(int fd, int how)
{
	kernel.nr[CALL_SHUTDOWN]++;
	return shutdown(fd, how);
}

UNUSED static int kernel_clock_gettime(clockid_t clock, struct timespec *ts)
{
	if (!kernel.now)
		return clock_gettime(clock, ts);
	ts->tv_sec = (time_t)(kernel.now / 1000000000u);
	ts->tv_nsec = (long)(kernel.now % 1000000000u);
	return 0;
}

static long kernel_sleep(const struct timespec *ts)
{
	uint64_t ns = (uint64_t)ts->tv_sec * 1000000000u + (uint64_t)ts->tv_nsec;

	if (kernel.nr[CALL_SLEEP] < 64)
		kernel.slept[kernel.nr[CALL_SLEEP]] = ns;
	kernel.nr[CALL_SLEEP]++;
	if (kernel.asleep)
		kernel.asleep();
	if (!kernel.now)
		return nanosleep(ts, NULL);
	kernel.now += ns;
	return 0;
}

/* Callers pass fewer arguments: the others are whatever is there, which a sanitizer must not look
 * at. */
UNUSED __attribute__((no_sanitize_address)) static long kernel_syscall(long number, ...)
{
	va_list args;
	long a[6];

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_nanosleep)
		return kernel_sleep((const struct timespec *)a[0]); // NOLINT
	if ((number == SYS_connect && kernel_fails(CALL_CONNECT)) ||
	    (number == SYS_membarrier && kernel_fails(CALL_MEMBARRIER)) ||
	    ((number == SYS_sendto || number == SYS_sendmsg) && kernel_fails(CALL_SEND)))
		return -1;
	return syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

#define fstat(...)         kernel_fstat(__VA_ARGS__)
#define stat(path, st)     kernel_stat(path, st)
#define fallocate(...)     kernel_fallocate(__VA_ARGS__)
#define mmap(...)          kernel_mmap(__VA_ARGS__)
#define mprotect(...)      kernel_mprotect(__VA_ARGS__)
#define munmap(...)        kernel_munmap(__VA_ARGS__)
#define madvise(...)       kernel_madvise(__VA_ARGS__)
#define pread(...)         kernel_pread(__VA_ARGS__)
#define fcntl(...)         kernel_fcntl(__VA_ARGS__)
#define socketpair(...)    kernel_socketpair(__VA_ARGS__)
#define socket(...)        kernel_socket(__VA_ARGS__)
#define close(...)         kernel_close(__VA_ARGS__)
#define shutdown(...)      kernel_shutdown(__VA_ARGS__)
#define clock_gettime(...) kernel_clock_gettime(__VA_ARGS__)
#define syscall(...)       kernel_syscall(__VA_ARGS__)

#include "../../sdk/c/corotracer.c"

#undef fstat
#undef fallocate
#undef mmap
#undef mprotect
#undef munmap
#undef madvise
#undef pread
#undef fcntl
#undef socketpair
#undef socket
#undef close
#undef shutdown
#undef clock_gettime
#undef syscall

#endif

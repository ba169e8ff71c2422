/* SPDX-License-Identifier: MIT */
/*
 * slow.c - preloaded into a program: its first open() of the region, or its first connect() to the
 * collector, is delayed, as on a busy machine.
 *
 *	SLOW_CALL	open or connect
 *	SLOW_MS		the delay in milliseconds
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int delayed;

static void delay(const char *call)
{
	const char *wanted = getenv("SLOW_CALL"), *ms = getenv("SLOW_MS");
	struct timespec ts;
	long left = ms ? strtol(ms, NULL, 10) : 0;

	if (!wanted || strcmp(wanted, call) != 0 ||
	    __atomic_exchange_n(&delayed, 1, __ATOMIC_RELAXED))
		return;
	if (write(2, "slow: ", 6) < 0 || write(2, call, strlen(call)) < 0 || write(2, "\n", 1) < 0)
		return;
	ts = (struct timespec){ left / 1000, left % 1000 * 1000000 };
	while (nanosleep(&ts, &ts) < 0)
		;
}

static int open_as(const char *name, const char *path, int flags, mode_t mode)
{
	int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT,
										     name);
	const char *region = getenv("CTP_SHM_PATH");

	if (region && !strcmp(path, region))
		delay("open");
	return next(path, flags, mode);
}

#define OPEN(name)                                           \
	int name(const char *path, int flags, ...)           \
	{                                                    \
		mode_t mode = 0;                             \
		va_list ap;                                  \
                                                             \
		if (flags & (O_CREAT | O_TMPFILE)) {         \
			va_start(ap, flags);                 \
			mode = (mode_t)va_arg(ap, unsigned); \
			va_end(ap);                          \
		}                                            \
		return open_as(#name, path, flags, mode);    \
	}

OPEN(open)
OPEN(open64)

int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	int (*next)(int, const struct sockaddr *, socklen_t) = (int (*)(
		int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");

	delay("connect");
	return next(fd, addr, len);
}

/* The C SDK uses syscall(): its calls are not cancellation points. */
long syscall(long number, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list ap;
	int i;

	va_start(ap, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_connect)
		delay("connect");
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

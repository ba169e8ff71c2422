/* SPDX-License-Identifier: MIT */
/*
 * slow.c - preloaded into a program: its first open() of the region, or its first connect() to the
 * collector, is delayed, as on a busy machine; and until other threads have coroutines, which the
 * program counts in late_begun.
 *
 *	SLOW_CALL	open or connect; or membarrier: the first registration fails
 *	SLOW_MS		the delay in milliseconds
 *	SLOW_OTHERS	how many threads have a coroutine before the call is made
 *
 * A registration for membarrier(2) by a process with several threads is told: the kernel makes it
 * wait.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LONGEST_WAIT 5000 /* milliseconds for the other threads */

static int delayed;

static void wait_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) < 0)
		;
}

/* A busy machine may start the other threads late. */
static void wait_for_others(void)
{
	const char *others = getenv("SLOW_OTHERS");
	unsigned long wanted = others ? strtoul(others, NULL, 10) : 0;
	unsigned long *begun = (unsigned long *)dlsym(RTLD_DEFAULT, "late_begun");
	long waited;

	for (waited = 0; begun && waited < LONGEST_WAIT; waited += 5) {
		if (__atomic_load_n(begun, __ATOMIC_RELAXED) >= wanted)
			return;
		wait_ms(5);
	}
}

static void tell(const char *what)
{
	if (write(2, "slow: ", 6) < 0 || write(2, what, strlen(what)) < 0)
		return;
	if (write(2, "\n", 1) < 0)
		return;
}

/* True for the first of these calls, if it is the one that the environment names. */
static int is_slow(const char *call)
{
	const char *wanted = getenv("SLOW_CALL");

	return wanted && !strcmp(wanted, call) &&
	       !__atomic_exchange_n(&delayed, 1, __ATOMIC_RELAXED);
}

static void delay(const char *call)
{
	const char *ms = getenv("SLOW_MS");

	if (!is_slow(call))
		return;
	tell(call);
	wait_ms(ms ? strtol(ms, NULL, 10) : 0);
	wait_for_others();
}

/* Returns -1 if the registration is to fail. */
static int look_at_registration(void)
{
	struct stat tasks;

	if (stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink > 3)
		tell("a process with threads registers for membarrier");
	if (!is_slow("membarrier"))
		return 0;
	tell("membarrier");
	return -1;
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
	if (number == SYS_membarrier &&
	    (a[0] == MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED ||
	     a[0] == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) &&
	    look_at_registration() < 0)
		return -1;
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* SPDX-License-Identifier: MIT */
/*
 * slow_connect.c - for LD_PRELOAD: the program's first connect(2) takes half a second, as on an
 * overloaded machine.  The SDK calls it through syscall().
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static int delayed;

long syscall(long number, ...)
{
	long (*next)(long, ...);
	long a[6];
	va_list args;
	int i;

	*(void **)&next = dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_connect && !__atomic_exchange_n(&delayed, 1, __ATOMIC_RELAXED))
		usleep(500000);
	return next(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

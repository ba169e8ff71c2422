/* SPDX-License-Identifier: MIT */
/*
 * kill_at.c - preloaded into a program: kill it at its Nth call that others can see.
 *
 *	LD_PRELOAD=libkill_at.so KILL_AT=17 KILL_HOW=half program ...
 *
 * Counted are send(2), write(2), pwrite(2), rename(2) and unlink(2).  KILL_HOW: "before" the call,
 * "half": a send or write passes the first half of its bytes, "after" the call.  Without KILL_AT,
 * the number of calls is written to the file KILL_COUNT at the end.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* The compiler's flags hide names. */
#define SEEN __attribute__((visibility("default")))

static long nr_calls;

static void die(void)
{
	kill(getpid(), SIGKILL);
	pause();
}

/* True if this is the call at which the program ends. */
static int is_last_call(void)
{
	const char *at = getenv("KILL_AT");

	return at && __atomic_add_fetch(&nr_calls, 1, __ATOMIC_RELAXED) == strtol(at, NULL, 10);
}

static const char *how(void)
{
	const char *text = getenv("KILL_HOW");

	return text ? text : "before";
}

/* The size that the call may pass on. */
static size_t size_before(int is_last, size_t size)
{
	if (is_last && !strcmp(how(), "before"))
		die();
	return is_last && !strcmp(how(), "half") ? size / 2 : size;
}

static void *next_of(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

#define COUNTED()                           \
	(getenv("KILL_AT") ? is_last_call() \
			   : (__atomic_add_fetch(&nr_calls, 1, __ATOMIC_RELAXED), 0))

SEEN ssize_t send(int fd, const void *data, size_t size, int flags)
{
	ssize_t (*next)(int, const void *, size_t, int) = next_of("send");
	int is_last = COUNTED();
	ssize_t got = next(fd, data, size_before(is_last, size), flags);

	if (is_last)
		die();
	return got;
}

SEEN ssize_t write(int fd, const void *data, size_t size)
{
	ssize_t (*next)(int, const void *, size_t) = next_of("write");
	int is_last = fd > 2 ? COUNTED() : 0;
	ssize_t got = next(fd, data, size_before(is_last, size));

	if (is_last)
		die();
	return got;
}

SEEN ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
	ssize_t (*next)(int, const void *, size_t, off_t) = next_of("pwrite");
	int is_last = COUNTED();
	ssize_t got = next(fd, data, size_before(is_last, size), offset);

	if (is_last)
		die();
	return got;
}

SEEN int rename(const char *from, const char *to)
{
	int (*next)(const char *, const char *) = next_of("rename");
	int is_last = COUNTED(), rc;

	size_before(is_last, 0);
	rc = next(from, to);
	if (is_last)
		die();
	return rc;
}

SEEN int unlink(const char *path)
{
	int (*next)(const char *) = next_of("unlink");
	int is_last = COUNTED(), rc;

	size_before(is_last, 0);
	rc = next(path);
	if (is_last)
		die();
	return rc;
}

__attribute__((destructor)) static void write_count(void)
{
	const char *path = getenv("KILL_COUNT");
	FILE *f = path ? fopen(path, "w") : NULL;

	if (!f)
		return;
	fprintf(f, "%ld\n", nr_calls);
	fclose(f);
}

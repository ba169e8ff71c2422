/* SPDX-License-Identifier: MIT */
/*
 * live_target.c - a program that executes commands from stdin on its coroutines.
 *
 *	begin NAME        create; it runs and suspends at once
 *	resume NAME
 *	suspend NAME
 *	await NAME FD     suspends for reading from FD
 *	want NAME LOCK    suspends for a mutex
 *	hold NAME LOCK    has taken the mutex
 *	join NAME N       suspends for the end of the coroutine with that id
 *	wake NAME
 *	close FD          which may be awaited
 *	end NAME
 *	spin N            N transitions of a coroutine of its own
 *	many N            create N more coroutines, which wait
 *	fds               prints which descriptors are open
 *	quit STATUS
 *
 * Each command is answered by "ok" once it is done.  In a name "%" and two hexadecimal digits are
 * that byte.
 */
#include <corotracer/corotracer.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX 64

struct named {
	char name[128];
	struct corotracer_coro co;
};

static struct named all[MAX];
static int nr;

static void unescape(char *s)
{
	char *to = s;

	for (; *s; s++) {
		unsigned byte;

		if (*s == '%' && sscanf(s + 1, "%2x", &byte) == 1) {
			*to++ = (char)byte;
			s += 2;
		} else {
			*to++ = *s;
		}
	}
	*to = '\0';
}

static struct corotracer_coro *find(char *name)
{
	int i;

	unescape(name);
	for (i = 0; i < nr; i++) {
		if (!strcmp(all[i].name, name))
			return &all[i].co;
	}
	if (nr == MAX)
		exit(97);
	snprintf(all[nr].name, sizeof(all[nr].name), "%s", name);
	return &all[nr++].co;
}

static void begin(struct corotracer_coro *co, const char *name)
{
	corotracer_spawn(co, name, NULL);
	corotracer_resume(co);
	corotracer_suspend(co, NULL);
}

static void spin(long n)
{
	static struct corotracer_coro co;
	static int is_there;
	long i;

	if (!is_there++)
		corotracer_begin(&co, "spinner");
	for (i = 0; i < n; i += 2) {
		corotracer_resume(&co);
		corotracer_suspend(&co, NULL);
	}
}

static void many(long n)
{
	struct corotracer_coro *cos = calloc((size_t)n, sizeof(*cos));
	long i;

	for (i = 0; cos && i < n; i++)
		begin(&cos[i], "one of many");
}

static void list_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char path[64], to[256];

	while (d && (e = readdir(d))) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%.20s", e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		if (n > 0)
			printf("fd %s %.*s\n", e->d_name, (int)n, to);
	}
	if (d)
		closedir(d);
}

static void obey(const char *verb, char *name, long n)
{
	if (!strcmp(verb, "begin"))
		begin(find(name), name);
	else if (!strcmp(verb, "resume"))
		corotracer_resume(find(name));
	else if (!strcmp(verb, "suspend"))
		corotracer_suspend(find(name), NULL);
	else if (!strcmp(verb, "await"))
		corotracer_await(find(name), CTP_REASON_IO_READ, (uint64_t)n);
	else if (!strcmp(verb, "want"))
		corotracer_await(find(name), CTP_REASON_MUTEX, (uint64_t)n);
	else if (!strcmp(verb, "hold"))
		corotracer_acquired(find(name), (uint64_t)n);
	else if (!strcmp(verb, "join"))
		corotracer_await(find(name), CTP_REASON_JOIN, (uint64_t)n);
	else if (!strcmp(verb, "close"))
		corotracer_closing(NULL, atol(name));
	else if (!strcmp(verb, "wake"))
		corotracer_wake(find(name), NULL);
	else if (!strcmp(verb, "end"))
		corotracer_end(find(name));
	else if (!strcmp(verb, "spin"))
		spin(atol(name));
	else if (!strcmp(verb, "many"))
		many(atol(name));
	else if (!strcmp(verb, "fds"))
		list_fds();
	else if (!strcmp(verb, "quit"))
		exit(atoi(name));
	else
		exit(98);
}

int main(void)
{
	char line[256], verb[16], name[128];

	corotracer_init();
	while (fgets(line, sizeof(line), stdin)) {
		long n = 0;

		name[0] = '\0';
		if (sscanf(line, "%15s %127s %ld", verb, name, &n) < 1)
			continue;
		obey(verb, name, n);
		puts("ok");
		fflush(stdout);
	}
	return 0;
}

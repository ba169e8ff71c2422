/* SPDX-License-Identifier: MIT */
/*
 * target.c - a program to trace; its arguments select correct or faulty behaviour.
 *
 *	target events N M US        N coroutines, M events each, US microseconds apart
 *	target then-kill N M        the same at once, then SIGKILL to itself
 *	target then-exit N M CODE   the same, then exit CODE
 *	target wait                 one event, prints "ready", then sleeps until killed
 *	target signals FILE         counts SIGINT and SIGTERM until SIGUSR2, prints them; a byte
 *	                            goes to FILE for each
 *	target fork N M             N coroutines in the parent, as many in a forked child
 *	target orphan               leaves a child behind that stays connected for a while
 *	target scribble SEED MS     writes random bytes over the used part of the region for MS ms
 *	target wild-count           sets allocated_count to all ones
 *	target stuck-odd            leaves a slot half written
 *	target truncate             cuts the region's file to nothing
 *	target echo                 copies stdin to stdout
 *
 * Prints what a test needs to compare with on stdout.
 */
#include <corotracer/corotracer.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pause_us(long us)
{
	struct timespec ts = { us / 1000000, us % 1000000 * 1000 };

	if (us)
		nanosleep(&ts, NULL);
}

static long arg(char **argv, int i)
{
	return argv[i] ? strtol(argv[i], NULL, 0) : 0;
}

/* @nr coroutines take turns, @events each. */
static struct corotracer_coro *make_events(const char *who, long nr, long events, long us)
{
	struct corotracer_coro *cos = calloc((size_t)nr, sizeof(*cos));
	long i, k;

	for (i = 0; i < nr; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%s %ld", who, i);
		corotracer_begin(&cos[i], name);
	}
	for (k = 0; k < events; k++) {
		for (i = 0; i < nr; i++) {
			if (k % 2)
				corotracer_suspend(&cos[i], (void *)(uintptr_t)(k + 1));
			else
				corotracer_resume(&cos[i]);
			pause_us(us);
		}
	}
	return cos;
}

static void end_all(struct corotracer_coro *cos, long nr)
{
	long i;

	for (i = 0; i < nr; i++)
		corotracer_end(&cos[i]);
	free(cos);
}

static int do_events(char **argv)
{
	long nr = arg(argv, 2);

	end_all(make_events("co", nr, arg(argv, 3), arg(argv, 4)), nr);
	return 0;
}

static int do_then_kill(char **argv)
{
	make_events("doomed", arg(argv, 2), arg(argv, 3), 0);
	raise(SIGKILL);
	return 0;
}

static int do_then_exit(char **argv)
{
	make_events("co", arg(argv, 2), arg(argv, 3), 0);
	_exit((int)arg(argv, 4));
}

static volatile sig_atomic_t ints, terms, over;

static int do_wait(char **argv)
{
	struct corotracer_coro *co = make_events("waiter", 1, 1, 0);

	(void)argv;
	puts("ready");
	fflush(stdout);
	while (!over)
		pause();
	free(co);
	return 0;
}

static int heard_fd = -1;

static void on_signal(int sig)
{
	if (sig != SIGUSR2 && write(heard_fd, "s", 1) < 0)
		abort();
	if (sig == SIGINT)
		ints++;
	else if (sig == SIGTERM)
		terms++;
	else
		over = 1;
}

static int do_signals(char **argv)
{
	struct sigaction act;

	heard_fd = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (heard_fd < 0)
		return 1;
	memset(&act, 0, sizeof(act));
	act.sa_handler = on_signal;
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	end_all(make_events("listener", 1, 1, 0), 1);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (!over)
		pause_us(1000);
	printf("int %d term %d\n", ints, terms);
	return 7;
}

static int do_fork(char **argv)
{
	long nr = arg(argv, 2), events = arg(argv, 3);
	struct corotracer_coro *cos = make_events("parent", nr, events, 100);
	pid_t child = fork();

	if (child == 0) {
		/* Inherited coroutines must not write to the parent's stations. */
		corotracer_suspend(&cos[0], (void *)(uintptr_t)0xbad);
		end_all(make_events("child", nr, events, 100), nr);
		corotracer_resume(&cos[0]);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	end_all(cos, nr);
	return 0;
}

static int do_orphan(char **argv)
{
	int ready[2];
	char byte;

	(void)argv;
	if (pipe(ready) < 0)
		return 1;
	if (fork() == 0) {
		make_events("orphan", 1, 4, 0);
		if (write(ready[1], "x", 1) != 1)
			_exit(1);
		pause_us(700000);
		make_events("late orphan", 1, 2, 0);
		_exit(0);
	}
	return read(ready[0], &byte, 1) == 1 ? 0 : 1;
}

/* ---- misbehaving ------------------------------------------------------------- */

static struct ctp_header *map_region(size_t *size)
{
	const char *path = getenv(CTP_ENV_SHM);
	struct stat st;
	int fd = path ? open(path, O_RDWR) : -1;
	void *map;

	if (fd < 0 || fstat(fd, &st) < 0)
		exit(99);
	*size = (size_t)st.st_size;
	map = mmap(NULL, *size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return map == MAP_FAILED ? NULL : map;
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A random offset in the region that is in use: the header, a station, or a unit of a pool. */
static size_t random_place(const struct ctp_header *h, size_t size, uint64_t *state)
{
	struct ctp_header copy = *h;
	struct ctp_ext_lanes *lanes = ctp_header_lanes(&copy);
	const struct ctp_pool *pools[] = { &lanes->lanes, &lanes->chunks, &lanes->lives,
					   &lanes->sites };
	const struct ctp_pool *pool = pools[random_next(state) % 4];
	uint64_t end = ctp_region_size(64), from = 16;

	/* The fields of the pools are overwritten, too. */
	if (lanes->magic == CTP_LANES_MAGIC && random_next(state) % 2 &&
	    pool->offset < size - 64 * CTP_CHUNK_SIZE && pool->used < 64 && pool->unit >= 32 &&
	    pool->unit <= CTP_CHUNK_SIZE) {
		from = pool->offset;
		end = from + (uint64_t)(pool->used ? pool->used : 1) * pool->unit;
	}
	return (size_t)(from + random_next(state) % (end - from - 8));
}

/* Everywhere but in the 24 bytes that identify a region; sometimes with plausible values. */
static int do_scribble(char **argv)
{
	uint64_t state = (uint64_t)arg(argv, 2) * 0x9E3779B97F4A7C15u + 1;
	size_t size, i;
	char *region = (char *)map_region(&size);
	struct timespec now, end;

	free(make_events("victim", 8, 20, 0));
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += arg(argv, 3) / 1000 + 1;
	do {
		for (i = 0; i < 1000; i++) {
			uint64_t r = random_next(&state);
			size_t at = random_place((struct ctp_header *)(void *)region, size, &state);
			uint64_t likely = r & 1 ? r >> 60 : r;

			/* The largest number is a mark in many a program: it must not be one here.
			 */
			if (r % 16 == 0)
				likely = UINT64_MAX;

			memcpy(region + at, &likely, (r >> 8) % 8 + 1);
		}
		free(make_events("victim", 1, 3, 0));
		pause_us(50);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	return 0;
}

static int do_wild_count(char **argv)
{
	size_t size;
	struct ctp_header *h = map_region(&size);

	(void)argv;
	free(make_events("co", 4, 8, 0));
	ctp_store_relaxed(&h->allocated_count, UINT32_MAX);
	pause_us(50000);
	return 0;
}

static int do_stuck_odd(char **argv)
{
	struct corotracer_coro *co = make_events("stuck", 1, 5, 0);

	(void)argv;
	ctp_store_relaxed(&co->probe.station->slots[5].seq, 1u);
	free(co);
	return 0;
}

static int do_truncate(char **argv)
{
	const char *path = getenv(CTP_ENV_SHM);

	(void)argv;
	make_events("co", 4, 8, 0);
	pause_us(100000);
	if (!path || truncate(path, 0) < 0)
		return 1;
	pause_us(100000);
	_exit(0);
}

static int do_echo(char **argv)
{
	char buf[4096];
	ssize_t got;

	(void)argv;
	while ((got = read(0, buf, sizeof(buf))) > 0) {
		if (write(1, buf, (size_t)got) != got)
			return 1;
	}
	fputs("on stderr\n", stderr);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(char **argv);
	} deeds[] = {
		{ "events", do_events },         { "then-kill", do_then_kill },
		{ "then-exit", do_then_exit },   { "wait", do_wait },
		{ "signals", do_signals },       { "fork", do_fork },
		{ "orphan", do_orphan },         { "scribble", do_scribble },
		{ "wild-count", do_wild_count }, { "stuck-odd", do_stuck_odd },
		{ "truncate", do_truncate },     { "echo", do_echo },
	};
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(deeds) / sizeof(deeds[0]); i++) {
		if (!strcmp(argv[1], deeds[i].name))
			return deeds[i].run(argv);
	}
	fputs("target: see the head of target.c\n", stderr);
	return 98;
}

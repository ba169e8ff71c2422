/* SPDX-License-Identifier: MIT */
/*
 * writer.h - shared by the raw writers: options, attaching, threads, the report.
 *
 * A writer defines write_event() and wake_collector() in its document's order and
 * calls writer_main().  usage:
 *
 *   -c N   coroutines (4)             -e N   events of each (24)
 *   -p US  pause after each event (0) -t N   threads (1); coroutine i is thread i % N's
 *   -i ID  probe ids: "address", "counter", or "same" for all alike
 *   --die  kill itself at the end     --leave-odd  leave the last write half done
 *
 * Event k (from 0) of coroutine i: even a suspend at (i + 1) << 32 | k, odd a resume.
 * At the end one JSON object on stdout says what was really written.
 */
#ifndef INTEROP_WRITER_H
#define INTEROP_WRITER_H

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "seed.h"

struct writer_coro {
	struct seed_station *station; /* NULL: all were in use */
	uint64_t nr;
	uint64_t probe_id;
	uint64_t nr_events;
};

static struct {
	unsigned long coroutines, events, pause_us, threads;
	const char *ids;
	bool die, leave_odd;
} options = { 4, 24, 0, 1, "address", false, false };

static struct seed_header *header;
static struct seed_station *stations;
static unsigned long max_stations;
static int sock = -1;
static struct writer_coro *coros;

/* Stores in the order of its document; defined by each writer. */
static void write_event(struct writer_coro *co, uint64_t addr, bool is_active);
static void write_half(struct writer_coro *co);
static void wake_collector(void);

/* As in the existing SDKs: a system call for each event. */
static uint64_t current_tid(void)
{
	return (uint64_t)syscall(SYS_gettid);
}

static uint64_t current_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- attaching -------------------------------------------------------------------- */

static void connect_socket(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };

	if (!path || strlen(path) >= sizeof(sun.sun_path))
		return;
	memcpy(sun.sun_path, path, strlen(path));
	sock = socket(AF_UNIX, SOCK_STREAM, 0);
	if (sock >= 0 && connect(sock, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		close(sock);
		sock = -1;
	}
	if (sock >= 0)
		fcntl(sock, F_SETFL, fcntl(sock, F_GETFL) | O_NONBLOCK);
}

static void join_collector(void)
{
	const char *path = getenv("CTP_SHM_PATH"), *nr = getenv("CTP_MAX_STATIONS");
	void *map;
	int fd;

	if (!path || !nr) {
		fprintf(stderr, "no collector in the environment\n");
		exit(2);
	}
	max_stations = strtoul(nr, NULL, 10);
	fd = open(path, O_RDWR);
	map = fd < 0 ? MAP_FAILED
		     : mmap(NULL, 1024 + max_stations * 1024, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	if (map == MAP_FAILED) {
		fprintf(stderr, "cannot map '%s': %s\n", path, strerror(errno));
		exit(2);
	}
	close(fd);
	header = map;
	stations = (struct seed_station *)(header + 1);
	if (header->magic_number != SEED_MAGIC || header->version != SEED_VERSION)
		fprintf(stderr, "a region of another kind\n");
	connect_socket(getenv("CTP_SOCK_PATH"));
}

/* ---- coroutines ----------------------------------------------------------------------- */

static uint64_t choose_id(const struct writer_coro *co)
{
	if (strcmp(options.ids, "counter") == 0)
		return co->nr + 1;
	if (strcmp(options.ids, "same") == 0)
		return 0xabcd;
	return (uint64_t)(uintptr_t)co;
}

static void claim(struct writer_coro *co)
{
	uint32_t index = __atomic_fetch_add(&header->allocated_count, 1, __ATOMIC_RELAXED);

	co->probe_id = choose_id(co);
	if (index >= max_stations)
		return;
	co->station = &stations[index];
	co->station->probe_id = co->probe_id;
	co->station->birth_ts = current_ns();
	co->station->is_dead = 0;
}

static void pause_a_little(void)
{
	struct timespec ts = { .tv_sec = (time_t)(options.pause_us / 1000000),
			       .tv_nsec = (long)(options.pause_us % 1000000) * 1000 };

	if (options.pause_us)
		nanosleep(&ts, NULL);
}

static void one_event(struct writer_coro *co)
{
	uint64_t k = co->nr_events;

	if (!co->station)
		return;
	if (k % 2)
		write_event(co, 0, true);
	else
		write_event(co, (co->nr + 1) << 32 | k, false);
	co->nr_events = k + 1;
	wake_collector();
	pause_a_little();
}

/* All coroutines of one thread, in turn. */
static void *run_thread(void *arg)
{
	unsigned long first = (unsigned long)(uintptr_t)arg;

	for (unsigned long i = first; i < options.coroutines; i += options.threads) {
		coros[i].nr = i;
		claim(&coros[i]);
	}
	for (unsigned long e = 0; e < options.events; e++)
		for (unsigned long i = first; i < options.coroutines; i += options.threads)
			one_event(&coros[i]);
	return NULL;
}

static void run_threads(void)
{
	pthread_t *threads = calloc(options.threads, sizeof(*threads));

	for (unsigned long i = 0; i < options.threads; i++)
		if (pthread_create(&threads[i], NULL, run_thread, (void *)(uintptr_t)i) != 0)
			exit(2);
	for (unsigned long i = 0; i < options.threads; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

/* ---- the end ---------------------------------------------------------------------------- */

static void report(const char *writer)
{
	printf("{\"writer\":\"%s\",\"pid\":%d,\"coroutines\":[", writer, (int)getpid());
	for (unsigned long i = 0; i < options.coroutines; i++)
		printf("%s{\"nr\":%lu,\"probe_id\":%llu,\"station\":%ld,\"events\":%llu}",
		       i ? "," : "", i, (unsigned long long)coros[i].probe_id,
		       coros[i].station ? (long)(coros[i].station - stations) : -1,
		       (unsigned long long)coros[i].nr_events);
	printf("]}\n");
	fflush(stdout);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (!*text || *end) {
		fprintf(stderr, "not a number: '%s'\n", text);
		exit(2);
	}
	return n;
}

static void parse_options(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "die", no_argument, NULL, 'k' },
		{ "leave-odd", no_argument, NULL, 'o' },
		{ NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:e:p:t:i:", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			options.coroutines = number(optarg);
			break;
		case 'e':
			options.events = number(optarg);
			break;
		case 'p':
			options.pause_us = number(optarg);
			break;
		case 't':
			options.threads = number(optarg);
			break;
		case 'i':
			options.ids = optarg;
			break;
		case 'k':
			options.die = true;
			break;
		case 'o':
			options.leave_odd = true;
			break;
		default:
			exit(2);
		}
	}
	if (!options.threads)
		exit(2);
}

static int writer_main(int argc, char **argv, const char *name)
{
	parse_options(argc, argv);
	join_collector();
	coros = calloc(options.coroutines, sizeof(*coros));
	if (!coros)
		return 2;
	run_threads();
	if (options.leave_odd && options.coroutines && coros[0].station)
		write_half(&coros[0]);
	else
		for (unsigned long i = 0; i < options.coroutines; i++)
			if (coros[i].station)
				coros[i].station->is_dead = 1;
	report(name);
	if (options.die)
		raise(SIGKILL);
	return 0;
}

#endif

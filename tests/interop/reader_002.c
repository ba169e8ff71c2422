/* SPDX-License-Identifier: MIT */
/*
 * reader_002.c - a collector that works like the existing coroTracer (cTP 0.x).
 *
 * It announces no extension: the rest of its header is zero, and stays so.  It
 * serves one connection at a time and scans while it is open; when nothing is found it
 * sets tracer_sleeping, scans once more, and waits on the socket for at most 50 ms.
 *
 * usage: reader_002 -n STATIONS -o FILE COMMAND...     (words are joined with spaces)
 *
 * The command runs through "sh -c".  Events go to FILE as they are found; events
 * that are found only after the command has ended (the existing collector would lose
 * them) go there too, and are counted separately.  Last, one JSON object on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "seed.h"

#define WAIT_MS 50

static struct seed_header *header;
static struct seed_station *stations;
static uint64_t (*last_seen)[8];
static unsigned long max_stations = 256;
static FILE *out;

static struct {
	unsigned long collected, after_end, wakeups, connections, strange_bytes;
} counts;

static void die(const char *what)
{
	perror(what);
	exit(2);
}

/* ---- the region and the socket ------------------------------------------------------ */

static void region_create(const char *path)
{
	size_t size = 1024 + max_stations * 1024;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	void *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		die(path);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		die("mmap");
	close(fd);
	header = map;
	stations = (struct seed_station *)(header + 1);
	header->magic_number = SEED_MAGIC;
	header->version = SEED_VERSION;
	header->max_stations = (uint32_t)max_stations;
	last_seen = calloc(max_stations, sizeof(*last_seen));
	if (!last_seen)
		die("calloc");
}

static int socket_create(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0 || listen(fd, 8) < 0)
		die(path);
	return fd;
}

static pid_t launch(const char *command, const char *shm, const char *sock)
{
	char nr[32];
	pid_t pid;

	snprintf(nr, sizeof(nr), "%lu", max_stations);
	setenv("CTP_SHM_PATH", shm, 1);
	setenv("CTP_SOCK_PATH", sock, 1);
	setenv("CTP_MAX_STATIONS", nr, 1);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* ---- scanning -------------------------------------------------------------------------- */

static bool harvest_slot(const struct seed_station *st, unsigned nr, uint64_t *seen)
{
	const struct seed_epoch *slot = &st->slots[nr];
	uint64_t seq = __atomic_load_n(&slot->seq, __ATOMIC_SEQ_CST);
	struct seed_epoch copy;

	if (seq <= *seen || seq % 2)
		return false;
	copy = *slot;
	if (__atomic_load_n(&slot->seq, __ATOMIC_SEQ_CST) != seq)
		return false;
	*seen = seq;
	fprintf(out,
		"{\"probe_id\":%llu,\"tid\":%llu,\"addr\":\"0x%016llx\",\"seq\":%llu,"
		"\"is_active\":%s,\"ts\":%llu}\n",
		(unsigned long long)st->probe_id, (unsigned long long)copy.tid,
		(unsigned long long)copy.addr, (unsigned long long)seq,
		copy.is_active ? "true" : "false", (unsigned long long)copy.timestamp);
	return true;
}

static unsigned long nr_claimed(void)
{
	uint32_t count = __atomic_load_n(&header->allocated_count, __ATOMIC_SEQ_CST);

	return count < max_stations ? count : max_stations;
}

static unsigned long scan(void)
{
	unsigned long found = 0, claimed = nr_claimed();

	for (unsigned long i = 0; i < claimed; i++)
		for (unsigned slot = 0; slot < 8; slot++)
			found += harvest_slot(&stations[i], slot, &last_seen[i][slot]);
	return found;
}

/* Wait for a wake-up byte.  False: the program closed the connection. */
static bool wait_for_byte(int conn)
{
	struct pollfd pfd = { .fd = conn, .events = POLLIN };
	char buf[256];
	ssize_t got;

	if (poll(&pfd, 1, WAIT_MS) <= 0)
		return true;
	got = read(conn, buf, sizeof(buf));
	if (got <= 0)
		return got < 0 && errno == EINTR;
	for (ssize_t i = 0; i < got; i++)
		counts.strange_bytes += buf[i] != '1';
	counts.wakeups += (unsigned long)got;
	return true;
}

static void serve(int conn)
{
	bool open = conn >= 0;

	counts.connections += open;
	while (open) {
		unsigned long found = scan();

		counts.collected += found;
		if (found)
			continue;
		fflush(out);
		__atomic_store_n(&header->tracer_sleeping, 1, __ATOMIC_SEQ_CST);
		counts.collected += scan();
		open = wait_for_byte(conn);
		__atomic_store_n(&header->tracer_sleeping, 0, __ATOMIC_SEQ_CST);
	}
	if (conn >= 0)
		close(conn);
}

/* Serve connections until the command has ended; returns its status. */
static int serve_until_end(int listener, pid_t pid)
{
	struct pollfd pfd = { .fd = listener, .events = POLLIN };
	int status = 0;

	while (waitpid(pid, &status, WNOHANG) == 0)
		if (poll(&pfd, 1, WAIT_MS) > 0)
			serve(accept(listener, NULL, NULL));
	return status;
}

/* ---- the end -------------------------------------------------------------------------------- */

static unsigned long count_bytes(const char *mem, size_t size)
{
	unsigned long used = 0;

	for (size_t i = 0; i < size; i++)
		used += mem[i] != 0;
	return used;
}

static void report(int status)
{
	unsigned long dead = 0, written = 0, beyond = 0;

	for (unsigned long i = 0; i < nr_claimed(); i++) {
		dead += stations[i].is_dead == 1;
		beyond += count_bytes(stations[i].flexible, sizeof(stations[i].flexible));
		beyond += count_bytes(stations[i].pad, sizeof(stations[i].pad));
		for (unsigned slot = 0; slot < 8; slot++)
			written += stations[i].slots[slot].seq / 2;
	}
	fprintf(stderr,
		"{\"collected\":%lu,\"after_end\":%lu,\"wakeups\":%lu,\"strange_bytes\":%lu,"
		"\"connections\":%lu,\"allocated\":%u,\"dead\":%lu,\"written\":%lu,"
		"\"bytes_beyond_protocol\":%lu,\"exit_status\":%d}\n",
		counts.collected, counts.after_end, counts.wakeups, counts.strange_bytes,
		counts.connections, header->allocated_count, dead, written,
		beyond + count_bytes(header->reserved, sizeof(header->reserved)),
		WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
}

/* The words of the command line, joined for the shell. */
static const char *join(char **words)
{
	static char command[4096];
	size_t used = 0;

	for (; *words && used < sizeof(command); words++)
		used += (size_t)snprintf(command + used, sizeof(command) - used, "%s ", *words);
	return command;
}

int main(int argc, char **argv)
{
	char dir[] = "/tmp/reader-002-XXXXXX", shm[64], sock[64];
	int c, listener, status;

	while ((c = getopt(argc, argv, "+n:o:")) != -1) {
		if (c == 'n')
			max_stations = strtoul(optarg, NULL, 10);
		else if (c == 'o')
			out = fopen(optarg, "w");
		else
			return 2;
	}
	if (!out || optind == argc || !mkdtemp(dir))
		die("usage: reader_002 -n STATIONS -o FILE COMMAND...");
	snprintf(shm, sizeof(shm), "%s/region", dir);
	snprintf(sock, sizeof(sock), "%s/socket", dir);
	region_create(shm);
	listener = socket_create(sock);
	status = serve_until_end(listener, launch(join(argv + optind), shm, sock));
	counts.after_end = scan();
	report(status);
	fclose(out);
	unlink(shm);
	unlink(sock);
	rmdir(dir);
	return 0;
}

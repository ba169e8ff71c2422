/* SPDX-License-Identifier: MIT */
/*
 * test_sdk_region.h - a region and a socket for tests of the SDK, without a collector.
 *
 * A process attaches once in its life, so each test runs in a child of its own
 * (RUN_ALONE); the parent never attaches.  All files are in one temporary directory,
 * which the parent removes.
 */
#ifndef TEST_SDK_REGION_H
#define TEST_SDK_REGION_H

#include <corotracer/ctp.h>
#include <corotracer/atomic.h>
#include <corotracer/inherit.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define UNUSED __attribute__((unused))

/* What region_open() makes; a plain cTP 0.x region when no flag is given. */
enum {
	REGION_EXT = 1,       /* announce the extensions */
	REGION_NO_SOCKET = 2, /* CTP_SOCK_PATH names no socket */
	REGION_CLOCK = 4,     /* announce that the clock is kept; the test keeps it */
};

struct region {
	char shm[300];
	char sock[300];
	uint64_t size;
	struct ctp_header *header;
	struct ctp_station *stations;
	int listener;
};

static char scratch_dir[256];
static pid_t scratch_owner;

UNUSED static void scratch_remove(void)
{
	struct dirent *entry;
	char path[600];
	DIR *dir;

	if (getpid() != scratch_owner)
		return;
	dir = opendir(scratch_dir);
	while (dir && (entry = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", scratch_dir, entry->d_name);
		if (entry->d_name[0] != '.')
			unlink(path);
	}
	if (dir)
		closedir(dir);
	rmdir(scratch_dir);
}

/* Call first in main(): makes a directory for the files, and clears the caller's environment. */
UNUSED static void scratch_make(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch_dir, sizeof(scratch_dir), "%s/corotracer-test-XXXXXX", tmp ? tmp : "/tmp");
	CHECK(mkdtemp(scratch_dir) != NULL);
	scratch_owner = getpid();
	atexit(scratch_remove);
	unsetenv(CTP_ENV_SHM);
	unsetenv(CTP_ENV_SOCK);
	unsetenv(CTP_ENV_STATIONS);
	unsetenv(CTP_ENV_FDS);
	unsetenv(CTP_ENV_VERBOSE);
}

/* Wait for a child; fails if the child failed. */
UNUSED static void child_reap(pid_t pid)
{
	int status = -1;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		fprintf(stderr, "child died of signal %d\n", WTERMSIG(status));
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* True if MADV_WIPEONFORK wipes pages in a child; qemu-user accepts it without effect. */
UNUSED static bool pages_are_wiped(void)
{
	int *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	CHECK(page != MAP_FAILED);
	if (madvise(page, 4096, MADV_WIPEONFORK) < 0)
		return false;
	*page = 1;
	pid = fork();
	if (pid == 0)
		_exit(*page);
	waitpid(pid, &status, 0);
	munmap(page, 4096);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

UNUSED static void run_alone(void (*test)(void))
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		test();
		exit(0);
	}
	child_reap(pid);
}

/* TEST_ONLY=name in the environment: run that test only, without a child, for debuggers. */
UNUSED static void run_alone_or_only(const char *name, void (*test)(void))
{
	const char *only = getenv("TEST_ONLY");

	if (only && strcmp(only, name) != 0)
		return;
	if (only)
		test();
	else
		run_alone(test);
	printf("ok - %s\n", name);
	fflush(stdout);
}

#define RUN_ALONE(test) run_alone_or_only(#test, test)

UNUSED static int socket_listen(const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	CHECK(strlen(path) < sizeof(sun.sun_path));
	memcpy(sun.sun_path, path, strlen(path));
	CHECK_EQ(bind(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	CHECK_EQ(listen(fd, 16), 0);
	return fd;
}

/* Fill a header as a collector does. */
UNUSED static void region_fill(struct region *r, uint32_t nr, int what)
{
	struct ctp_ext_header *ext = ctp_header_ext(r->header);

	r->header->magic_number = CTP_MAGIC;
	r->header->version = CTP_VERSION;
	r->header->max_stations = nr;
	if (what & REGION_EXT) {
		ext->version = CTP_EXT_VERSION;
		ext->features = CTP_EXT_SLEEPING | CTP_EXT_MEMBARRIER;
		if (what & REGION_CLOCK)
			ext->features |= CTP_EXT_CLOCK;
		ctp_store_release(&ext->magic, CTP_EXT_MAGIC);
	}
}

/* Make a region with @nr stations, and point the environment at it. */
UNUSED static void region_open(struct region *r, uint32_t nr, int what)
{
	static int serial;
	char text[32];
	void *map;
	int fd;

	serial++;
	snprintf(r->shm, sizeof(r->shm), "%s/region-%d-%d", scratch_dir, (int)getpid(), serial);
	snprintf(r->sock, sizeof(r->sock), "%s/s-%d-%d", scratch_dir, (int)getpid(), serial);
	r->size = ctp_region_size(nr);
	fd = open(r->shm, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)r->size), 0);
	map = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(map != MAP_FAILED);
	close(fd);
	r->header = map;
	r->stations = ctp_stations(r->header);
	region_fill(r, nr, what);
	r->listener = what & REGION_NO_SOCKET ? -1 : socket_listen(r->sock);
	snprintf(text, sizeof(text), "%u", nr);
	setenv(CTP_ENV_SHM, r->shm, 1);
	setenv(CTP_ENV_SOCK, r->sock, 1);
	setenv(CTP_ENV_STATIONS, text, 1);
}

/* The program's connection; -1: it made none. */
UNUSED static int region_accept(struct region *r)
{
	fcntl(r->listener, F_SETFL, O_NONBLOCK);
	return accept4(r->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

/* How many wake-up bytes have arrived on @conn since the last call? */
UNUSED static int wakeups_count(int conn)
{
	char buf[4096];
	ssize_t got;
	int count = 0;

	while ((got = read(conn, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < got; i++)
			CHECK_EQ(buf[i], CTP_WAKE_BYTE);
		count += (int)got;
	}
	return count;
}

/* The number of writes to slot @nr of the station. */
UNUSED static uint64_t slot_writes(const struct ctp_station *st, unsigned nr)
{
	return ctp_load_relaxed(&st->slots[nr].seq) / 2;
}

/* The number of events written to the station. */
UNUSED static uint64_t station_writes(const struct ctp_station *st)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CTP_SLOTS; i++)
		sum += slot_writes(st, i);
	return sum;
}

UNUSED static bool all_zero(const void *mem, size_t size)
{
	const unsigned char *byte = mem;

	for (size_t i = 0; i < size; i++)
		if (byte[i])
			return false;
	return true;
}

/* stderr goes to a file between quiet_begin() and quiet_end(); returns the bytes written. */
struct quiet {
	int saved, file;
};

UNUSED static void quiet_begin(struct quiet *q)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/stderr-%d", scratch_dir, (int)getpid());
	fflush(stderr);
	q->saved = dup(2);
	q->file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(q->saved >= 0 && q->file >= 0);
	CHECK(dup2(q->file, 2) == 2);
}

UNUSED static long quiet_end(struct quiet *q, char *text, size_t size)
{
	struct stat st;
	ssize_t got = 0;

	fflush(stderr);
	dup2(q->saved, 2);
	close(q->saved);
	CHECK_EQ(fstat(q->file, &st), 0);
	if (text) {
		got = pread(q->file, text, size - 1, 0);
		text[got > 0 ? got : 0] = '\0';
	}
	close(q->file);
	return (long)st.st_size;
}

#endif

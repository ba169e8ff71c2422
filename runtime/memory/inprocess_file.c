/* SPDX-License-Identifier: MIT */
/*
 * inprocess_file.c - the trace file of a program that runs alone, and the file of its region.
 *
 * The region is a file on tmpfs whose name derives from the trace file, so that `corotracer mem
 * recover TRACE` finds what a killed program had not yet written.
 */
#include "inprocess_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "container.h"
#include "inherited_region.h"
#include "trace_session.h"
#include "sys.h"

#define REGION_ROOM (16u << 20)

/* Start time of this process on CLOCK_MONOTONIC, or slightly earlier. */
static uint64_t own_process_start(void)
{
	char text[1024], *c;
	uint64_t ticks = 0, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	size_t n = crt_read_file("/proc/self/stat", text, sizeof(text)), i;
	int field;

	/* The fields follow the last ')': the process name may contain any byte. */
	for (i = n; i > 0 && text[i] != ')'; i--)
		;
	for (c = text + i, field = 2; *c && field < 22; c++)
		field += *c == ' ';
	for (; *c >= '0' && *c <= '9'; c++)
		ticks = ticks * 10 + (uint64_t)(*c - '0');
	return hz ? ticks * (1000000000u / hz) : 0;
}

/* True if @path holds a trace that this process started before an exec. */
static bool own_trace_is_there(const char *path)
{
	char head[1024];
	size_t n = crt_read_file(path, head, sizeof(head));
	const struct cray_file *file = (const struct cray_file *)head;
	const struct cray_chunk *c = (const struct cray_chunk *)(head + sizeof(*file));
	size_t at = sizeof(*file) + sizeof(*c);
	uint64_t pid;
	struct cray_fact fact;

	if (n < at || __builtin_memcmp(file->magic, CRAY_MAGIC, 8) != 0 || c->type != CRAY_INFO ||
	    c->codec != CRAY_CODEC_NONE || file->start_ns < own_process_start())
		return false;
	/* The first fact is the pid (inprocess_writer.c). */
	if (n < at + sizeof(fact) + sizeof(pid))
		return false;
	__builtin_memcpy(&fact, head + at, sizeof(fact));
	__builtin_memcpy(&pid, head + at + sizeof(fact), sizeof(pid));
	return fact.key == CRAY_FACT_PID && pid == crt_pid();
}

static bool trace_has_magic(int fd)
{
	char magic[8];

	return pread(fd, magic, sizeof(magic), 0) == sizeof(magic) &&
	       __builtin_memcmp(magic, CRAY_MAGIC, sizeof(magic)) == 0;
}

static bool trace_has_name(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

/* Keep an earlier trace as PATH.old, as the collector does.  False: it cannot be renamed. */
static bool trace_keep_old(const char *path)
{
	char old[CRT_PATH_MAX + 80];
	struct crt_text t;

	crt_text_init(&t, old, sizeof(old));
	crt_text_add(&t, path);
	crt_text_add(&t, ".old");
	return t.at < t.end && rename(path, old) == 0;
}

/*
 * Open @path, empty and locked as long as the program writes it.  -EWOULDBLOCK: another process
 * writes it; or another negative errno.  A pipe or device is opened as it is.
 */
static int trace_take(const char *path)
{
	struct stat st;
	int fd, i;

	for (i = 0; i < 100; i++) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
		if (fd < 0)
			return -errno;
		if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
			return fd;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
			close(fd);
			return -EWOULDBLOCK;
		}
		/* Another process may have renamed the file between the two calls. */
		if (trace_has_name(fd, path) && (!trace_has_magic(fd) || !trace_keep_old(path)) &&
		    ftruncate(fd, 0) == 0)
			return fd;
		close(fd);
	}
	return -EBUSY;
}

/*
 * The program's descriptors have the numbers that they have without a trace; without standard
 * output, it would write into the trace.
 */
static int trace_raise(int fd)
{
	int high = crt_copy_high(fd);

	if (high < 0)
		return fd;
	close(fd);
	return high;
}

int crt_open_trace(bool child)
{
	struct crt_session *s = &crt_session;
	char path[CRT_PATH_MAX + 64];
	struct crt_text t;
	uint32_t i;
	size_t n;
	int fd;

	if (!crt_options_path(&s->options, crt_pid(), child, path, sizeof(path) - 16)) {
		crt_say("the name of the trace is too long; not tracing", NULL);
		return -1;
	}
	/* Never reuse a file that this process wrote before it called exec. */
	n = crt_length(path);
	for (i = 1; i < 1000 && own_trace_is_there(path); i++) {
		crt_text_init(&t, path + n, sizeof(path) - n);
		crt_text_add(&t, ".");
		crt_text_number(&t, i);
	}
	fd = trace_take(path);
	if (fd == -EWOULDBLOCK) {
		crt_text_init(&t, path + n, sizeof(path) - n);
		crt_text_add(&t, ".");
		crt_text_number(&t, crt_pid());
		crt_say("another program writes a trace of that name; this one is '", path, "'",
			NULL);
		fd = trace_take(path);
	}
	if (fd < 0) {
		crt_say("cannot open the trace '", path, "': ", strerror(-fd), "; not tracing",
			NULL);
		return fd;
	}
	return trace_raise(fd);
}

/* Without room for the buffers of a few threads, memory that has no name is better. */
static bool inprocess_file_has_room(int fd)
{
	struct statvfs fs;

	return fstatvfs(fd, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize >= REGION_ROOM;
}

int crt_open_region(int trace)
{
	struct crt_session *s = &crt_session;
	struct crt_text t;
	struct stat st;
	int fd = -1;

	s->live_path[0] = '\0';
	if (fstat(trace, &st) == 0 && S_ISREG(st.st_mode)) {
		crt_text_init(&t, s->live_path, sizeof(s->live_path));
		crt_text_add(&t, "/dev/shm/cacheray-");
		crt_text_number(&t, getuid());
		crt_text_add(&t, "-");
		crt_text_hex(&t, st.st_dev);
		crt_text_add(&t, "-");
		crt_text_hex(&t, st.st_ino);
		unlink(s->live_path); /* left by an earlier run into the same trace file */
		fd = open(s->live_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	}
	if (fd >= 0 && !inprocess_file_has_room(fd)) {
		close(fd);
		unlink(s->live_path);
		fd = -1;
	}
	if (fd < 0) {
		s->live_path[0] = '\0';
		fd = (int)syscall(SYS_memfd_create, "cacheray", 1 /* MFD_CLOEXEC */);
	}
	return fd;
}

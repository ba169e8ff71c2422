/* SPDX-License-Identifier: MIT */
/* ring_segment.c - create shared memory that removes itself. */
#include "frames/live/ring_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/io.h"
#include "process/target_memory.h"

/* ---- the helper process -------------------------------------------------- */

/* The kernel may return id 0: it is the first id of a new namespace. */
static int make_nonzero(size_t size)
{
	int id = shmget(IPC_PRIVATE, size, IPC_CREAT | IPC_EXCL | 0600), second;

	if (id != 0)
		return id;
	second = shmget(IPC_PRIVATE, size, IPC_CREAT | IPC_EXCL | 0600);
	shmctl(id, IPC_RMID, NULL);
	return second;
}

/* A segment that root makes for a user's program must belong to that user. */
static int give_to(int id, uid_t uid, gid_t gid)
{
	struct shmid_ds ds;

	if (uid == geteuid())
		return 0;
	if (shmctl(id, IPC_STAT, &ds) < 0)
		return -1;
	ds.shm_perm.uid = uid;
	ds.shm_perm.gid = gid;
	return shmctl(id, IPC_SET, &ds);
}

/* Returns the id, or a negative errno. */
static int make_marked(size_t size, uid_t uid, gid_t gid)
{
	int id = make_nonzero(size), error = 0;

	if (id < 0)
		return -errno;
	/* Attach first: a segment without attached processes is removed as soon as it is marked. */
	if (give_to(id, uid, gid) < 0 || (intptr_t)shmat(id, NULL, 0) == -1) // NOLINT
		error = errno;
	shmctl(id, IPC_RMID, NULL);
	return error ? -error : id;
}

/* The id in full, however small the pieces are. */
static bool segment_send_id(int fd, int id)
{
	const char *at = (const char *)&id;
	size_t left = sizeof(id);

	while (left) {
		ssize_t put = io_write(fd, at, left);

		if (put <= 0)
			return false;
		at += put;
		left -= (size_t)put;
	}
	return true;
}

static bool segment_get_id(int fd, int *id)
{
	char *at = (char *)id;
	size_t left = sizeof(*id);

	while (left) {
		ssize_t got = io_read(fd, at, left);

		if (got <= 0)
			return false;
		at += got;
		left -= (size_t)got;
	}
	return true;
}

/* Keep the segment attached until the parent has attached it, or has died. */
__attribute__((noreturn)) static void segment_help(int fd, size_t size, uid_t uid, gid_t gid)
{
	int id = make_marked(size, uid, gid);
	char byte;

	if (segment_send_id(fd, id))
		io_read(fd, &byte, 1);
	_exit(0);
}

/* ---- the collector ------------------------------------------------------- */

static long long segment_limit(const char *name)
{
	char path[64], text[32] = "";
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	return got > 0 ? (long long)strtoull(text, NULL, 10) : -1;
}

static int segment_refuse(int code, size_t size, struct err *err)
{
	err_set(err, code, "cannot make %zu bytes of shared memory: %s", size, strerror(-code));
	if (code == -ENOSPC)
		err_hint(err,
			 "the system's limit is reached: %lld segments (kernel.shmmni) or %lld "
			 "pages (kernel.shmall); 'ipcs -m' lists them",
			 segment_limit("shmmni"), segment_limit("shmall"));
	else if (code == -EINVAL)
		err_hint(err,
			 "one segment may have %lld bytes (kernel.shmmax); use a smaller "
			 "--size",
			 segment_limit("shmmax"));
	else if (code == -ENOMEM)
		err_hint(err, "there is not that much memory; use a smaller --size");
	return code;
}

/* The owner of the segment: the effective user and group of @pid. */
static void segment_owner_of(pid_t pid, uid_t *uid, gid_t *gid)
{
	char path[64], line[256];
	unsigned real, effective;
	FILE *file;

	*uid = geteuid();
	*gid = getegid();
	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2)
			*uid = effective;
		else if (sscanf(line, "Gid: %u %u", &real, &effective) == 2)
			*gid = effective;
	}
	if (file)
		fclose(file);
}

static int segment_receive(struct segment *s, int fd, size_t size, struct err *err)
{
	int id = -EPIPE;
	void *map;

	if (!segment_get_id(fd, &id))
		return err_set(err, -EPIPE, "the helper that creates shared memory was killed");
	if (id < 0)
		return segment_refuse(id, size, err);
	map = shmat(id, NULL, 0);
	if ((intptr_t)map == -1) // NOLINT(performance-no-int-to-ptr)
		return err_errno(err, "cannot attach shared memory %d", id);
	s->id = id;
	s->map = map;
	s->size = size;
	return 0;
}

int segment_create(struct segment *s, size_t size, pid_t pid, struct err *err)
{
	int pair[2], rc, status;
	pid_t helper;
	uid_t uid;
	gid_t gid;

	memset(s, 0, sizeof(*s));
	segment_owner_of(pid, &uid, &gid);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "cannot make a pair of sockets");
	helper = fork();
	if (helper < 0) {
		rc = err_errno(err, "cannot start a helper process");
		close(pair[0]);
		close(pair[1]);
		return rc;
	}
	if (!helper) {
		close(pair[0]);
		segment_help(pair[1], size, uid, gid);
	}
	close(pair[1]);
	rc = segment_receive(s, pair[0], size, err);
	close(pair[0]);
	while (waitpid(helper, &status, 0) < 0 && errno == EINTR)
		;
	return rc;
}

void segment_release(struct segment *s)
{
	if (s->map)
		shmdt(s->map);
	memset(s, 0, sizeof(*s));
}

int segment_join_namespace(pid_t pid, struct err *err)
{
	char path[64];
	int fd, rc = 0;

	if (target_shares_namespace(pid, "ipc"))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (setns(fd, CLONE_NEWIPC) < 0) {
		rc = err_errno(err, "process %d has shared memory of its own (an IPC namespace)",
			       (int)pid);
		err_hint(err, "run corotracer inside that container, or as root of the host");
	}
	close(fd);
	return rc;
}

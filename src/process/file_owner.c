/* SPDX-License-Identifier: MIT */
/* file_owner.c - create files as another user, and find directories of another mount namespace. */
#include "process/file_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/target_memory.h"
#include "base/io.h"

/* The @nth number (from 0) after @key in the text of a status file; @missing if there is none. */
static uint32_t status_field(const char *text, const char *key, int nth, uint32_t missing)
{
	const char *at = strstr(text, key);
	char *end;
	unsigned long n;

	if (!at)
		return missing;
	at += strlen(key);
	do {
		n = strtoul(at, &end, 10);
		if (end == at)
			return missing;
		at = end;
	} while (nth-- > 0);
	return (uint32_t)n;
}

/* The last number of the line "NSpid:": the pid in the innermost namespace. */
static uint32_t status_inner_pid(const char *text, uint32_t pid)
{
	const char *at = strstr(text, "\nNSpid:"), *end, *last;

	if (!at)
		return pid;
	at += strlen("\nNSpid:");
	end = strchr(at, '\n');
	for (last = end ? end : at + strlen(at); last > at && last[-1] != '\t'; last--)
		;
	return (uint32_t)strtoul(last, NULL, 10);
}

static bool owner_has_own_root(pid_t pid)
{
	char path[64];
	struct stat theirs, ours;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	if (stat(path, &theirs) < 0 || stat("/proc/self/root", &ours) < 0)
		return false; /* the next access reports why */
	return theirs.st_dev != ours.st_dev || theirs.st_ino != ours.st_ino ||
	       !target_shares_namespace(pid, "mnt");
}

int file_owner_of(pid_t pid, struct file_owner *out, struct err *err)
{
	char path[64], text[4096];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	got = fd < 0 ? -1 : io_pread(fd, text, sizeof(text) - 1, 0);
	if (got < 0)
		err_errno(err, "cannot read '%s'", path);
	if (fd >= 0)
		close(fd);
	if (got < 0)
		return err->code;
	text[got] = '\0';
	*out = (struct file_owner){
		.pid = pid,
		/* real, effective, saved, file system */
		.uid = status_field(text, "\nUid:", 3, geteuid()),
		.gid = status_field(text, "\nGid:", 3, getegid()),
		.own_root = owner_has_own_root(pid),
		.inner = status_inner_pid(text, (uint32_t)pid),
	};
	return 0;
}

/* ---- as the owner -------------------------------------------------------- */

static bool owner_is_other(const struct file_owner *owner)
{
	return owner->pid && (owner->uid != geteuid() || owner->gid != getegid());
}

int file_owner_enter(const struct file_owner *owner, struct err *err)
{
	if (!owner_is_other(owner))
		return 0;
	setfsgid(owner->gid);
	setfsuid(owner->uid);
	/* A failure is not reported: ask. */
	if ((uint32_t)setfsuid((uid_t)-1) == owner->uid)
		return 0;
	file_owner_leave(owner);
	err_set(err, -EPERM, "cannot create files for user %u, who runs process %d", owner->uid,
		(int)owner->pid);
	err_hint(err, "run corotracer as that user, or with sudo");
	return err->code;
}

void file_owner_leave(const struct file_owner *owner)
{
	if (!owner_is_other(owner))
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
}

/* The directory with the first @size bytes of @name, in @dir; not a link. */
static int owner_open_part(int dir, const char *name, size_t size)
{
	char part[NAME_MAX + 1];

	if (size >= sizeof(part)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(part, name, size);
	part[size] = '\0';
	return openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/*
 * For kernels before 5.6, without openat2(2): one directory after the other, and none of them may
 * be a link.
 */
static int owner_open_plain(int root, const char *path)
{
	int dir = fcntl(root, F_DUPFD_CLOEXEC, 3), next;
	size_t size;

	for (path += strspn(path, "/"); dir >= 0 && *path; path += strspn(path, "/")) {
		size = strcspn(path, "/");
		next = owner_open_part(dir, path, size);
		close(dir);
		dir = next;
		path += size;
	}
	return dir;
}

int file_owner_open_dir(const struct file_owner *owner, const char *path)
{
	/* The process chooses what its links lead to: they must not lead out of its root. */
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	char root[64];
	int dir, fd;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)owner->pid);
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof(how));
	/* Some sandboxes forbid what they do not know. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = owner_open_plain(dir, path);
	if (fd < 0)
		fd = -errno;
	close(dir);
	return fd;
}

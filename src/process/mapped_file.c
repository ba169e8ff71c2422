/* SPDX-License-Identifier: MIT */
/* mapped_file.c - open the file behind a mapping of another process, and read its build-id. */
#include "process/mapped_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The path may name a device or a pipe: neither blocks, and a terminal is not taken over. */
#define MAPPED_FILE_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* @path as the process sees it: it may be in a container. */
static int mapped_file_open_root(pid_t pid, const char *path)
{
	char full[PATH_MAX + 32];

	if (snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path) >= (int)sizeof(full)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return open(full, MAPPED_FILE_FLAGS);
}

int mapped_file_open_path(pid_t pid, const char *path)
{
	int fd = mapped_file_open_root(pid, path);

	return fd < 0 ? open(path, MAPPED_FILE_FLAGS) : fd;
}

/* /proc/PID/exe opens the program even if it was unlinked.  -1: @map is not the program. */
static int mapped_file_open_program(pid_t pid, const struct process_map *map)
{
	char name[64], exe[PATH_MAX + sizeof(PROCESS_MAP_DELETED)];
	size_t len = strlen(map->path);
	ssize_t got;

	snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	got = readlink(name, exe, sizeof(exe) - 1);
	if (got < 0)
		return -1;
	exe[got] = '\0';
	if (strncmp(exe, map->path, len) != 0 ||
	    strcmp(exe + len, map->deleted ? PROCESS_MAP_DELETED : "") != 0)
		return -1;
	return open(name, MAPPED_FILE_FLAGS);
}

/* The kernel shows a path of a process in a chroot as this process sees it. */
static int mapped_file_open_here(const struct process_map *map)
{
	int fd = open(map->path, MAPPED_FILE_FLAGS);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_ino != map->inode)) {
		close(fd);
		errno = ENOENT;
		return -1;
	}
	return fd;
}

int mapped_file_open(pid_t pid, const struct process_map *map)
{
	char name[96];
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		 map->start, map->end);
	fd = open(name, MAPPED_FILE_FLAGS);
	if (fd < 0)
		fd = mapped_file_open_program(pid, map);
	if (fd < 0 && map->deleted) {
		errno = ENOENT; /* another file may have the name now */
		return -1;
	}
	if (fd < 0)
		fd = mapped_file_open_root(pid, map->path);
	return fd < 0 ? mapped_file_open_here(map) : fd;
}

bool mapped_file_build_id(Elf *elf, char text[BUILD_ID_TEXT])
{
	const void *bytes;
	ssize_t size = dwelf_elf_gnu_build_id(elf, &bytes), i;

	if (size <= 0 || size * 2 >= BUILD_ID_TEXT)
		return false;
	for (i = 0; i < size; i++)
		sprintf(text + 2 * i, "%02x", ((const uint8_t *)bytes)[i]);
	return true;
}

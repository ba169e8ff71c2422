/* SPDX-License-Identifier: MIT */
/* left_region.c - find the region that a killed `mem run` left behind. */
#include "memory/collect/left_region.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "process/process_maps.h"
#include "process/shm_space.h"
#include "wire.h"

#define NOTE "trace-"

void left_region_note(const char *dir, uint64_t serial, const char *path)
{
	struct stat st;
	char *note, *whole;
	int fd;

	if (stat(path, &st) < 0 ||
	    asprintf(&note, "%s/" NOTE "%" PRIx64 "-%llx-%llx", dir, serial,
		     (unsigned long long)st.st_dev, (unsigned long long)st.st_ino) < 0)
		return;
	fd = open(note, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	whole = realpath(path, NULL);
	if (fd >= 0 && whole)
		(void)io_write(fd, whole,
			       strlen(whole)); /* for people; a recovery does not need it */
	if (fd >= 0)
		close(fd);
	free(whole);
	free(note);
}

/* Removes the notes, or counts them. */
static size_t left_region_walk(const char *path, bool removes)
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	size_t nr = 0;

	while (dir && (e = readdir(dir))) {
		if (strncmp(e->d_name, NOTE, strlen(NOTE)) != 0)
			continue;
		nr++;
		if (removes)
			unlinkat(dirfd(dir), e->d_name, 0);
	}
	if (dir)
		closedir(dir);
	return nr;
}

void left_region_forget(const char *dir)
{
	left_region_walk(dir, true);
}

/* True if @left->dir has a note for the trace. */
static bool left_region_matches(struct left_region *left, uint64_t device, uint64_t inode)
{
	DIR *dir = opendir(left->dir);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		uint64_t d, i;
		int end = 0;

		found = sscanf(e->d_name, NOTE "%" SCNx64 "-%" SCNx64 "-%" SCNx64 "%n",
			       &left->serial, &d, &i, &end) == 3 &&
			!e->d_name[end] && d == device && i == inode;
		if (found)
			snprintf(left->note, sizeof(left->note), "%.79s", e->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

static bool left_region_is_mine(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static bool left_region_find_in(struct left_region *left, const char *place, uint64_t device,
				uint64_t inode)
{
	DIR *dir = opendir(place);
	const struct dirent *e;
	bool found = false;

	while (dir && !found && (e = readdir(dir))) {
		if (strncmp(e->d_name, LEFT_REGION_PREFIX, strlen(LEFT_REGION_PREFIX)) != 0 ||
		    (size_t)snprintf(left->dir, sizeof(left->dir), "%s/%s", place, e->d_name) >=
			    sizeof(left->dir))
			continue;
		found = left_region_is_mine(left->dir) && left_region_matches(left, device, inode);
	}
	if (dir)
		closedir(dir);
	return found;
}

bool left_region_find(struct left_region *left, uint64_t device, uint64_t inode)
{
	const char *places[ROOM_PLACES];
	size_t i;

	room_places(places);
	for (i = 0; i < ROOM_PLACES; i++) {
		if (places[i] && left_region_find_in(left, places[i], device, inode))
			return true;
	}
	return false;
}

/* True if the collector that made the region still has it. */
static bool left_region_is_in_use(const char *dir)
{
	struct crw_header head = { 0 };
	char path[160];
	int fd;

	snprintf(path, sizeof(path), "%s/region", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return true;
	if (io_pread(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head))
		head.consumer_pid = 0;
	close(fd);
	return process_maps_file((pid_t)head.consumer_pid, path);
}

static size_t left_region_list_notes(const char *path,
				     void (*each)(const char *dir, const char *trace))
{
	DIR *dir = opendir(path);
	const struct dirent *e;
	char trace[4096];
	size_t nr = 0;

	while (dir && (e = readdir(dir))) {
		ssize_t size = -1;
		int fd = -1;

		if (!strncmp(e->d_name, NOTE, strlen(NOTE)))
			fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		if (fd >= 0) {
			size = read(fd, trace, sizeof(trace) - 1);
			close(fd);
		}
		if (size <= 0)
			continue;
		trace[size] = '\0';
		each(path, trace);
		nr++;
	}
	if (dir)
		closedir(dir);
	return nr;
}

size_t left_region_list(void (*each)(const char *dir, const char *trace))
{
	const char *places[ROOM_PLACES];
	char path[sizeof(((struct left_region *)0)->dir)];
	const struct dirent *e;
	size_t nr = 0, i;

	room_places(places);
	for (i = 0; i < ROOM_PLACES; i++) {
		DIR *dir = places[i] ? opendir(places[i]) : NULL;

		while (dir && (e = readdir(dir))) {
			if (!strncmp(e->d_name, LEFT_REGION_PREFIX, strlen(LEFT_REGION_PREFIX)) &&
			    (size_t)snprintf(path, sizeof(path), "%s/%s", places[i], e->d_name) <
				    sizeof(path) &&
			    left_region_is_mine(path) && !left_region_is_in_use(path))
				nr += left_region_list_notes(path, each);
		}
		if (dir)
			closedir(dir);
	}
	return nr;
}

void left_region_remove(const struct left_region *left)
{
	int dir = open(left->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return;
	unlinkat(dir, left->note, 0);
	if (!left_region_walk(left->dir, false)) {
		unlinkat(dir, "region", 0);
		rmdir(left->dir);
	}
	close(dir);
}

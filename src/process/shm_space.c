/* SPDX-License-Identifier: MIT */
/* shm_space.c - choose a directory with room for shared memory: tmpfs if possible, else the
 * largest. */
#include "process/shm_space.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

/* The longest name of a file in the directory, including its slash. */
#define FILE_NAME_MOST 16u

/* The step by which a pool grows; not every file system can reserve it. */
#define PROBE_SIZE 65536

struct room {
	const char *path;
	uint64_t room;  /* free bytes, at most the wanted size */
	bool preferred; /* tmpfs with room for the wanted size */
};

void room_places(const char *places[ROOM_PLACES])
{
	size_t i, k;

	places[0] = "/dev/shm";
	places[1] = getenv("XDG_RUNTIME_DIR");
	places[2] = getenv("TMPDIR");
	places[3] = "/tmp";
	places[4] = "/var/tmp";
	for (i = 0; i < ROOM_PLACES; i++) {
		if (places[i] && places[i][0] != '/')
			places[i] = NULL;
		for (k = 0; places[i] && k < i; k++) {
			if (places[k] && !strcmp(places[i], places[k]))
				places[i] = NULL;
		}
	}
}

uint64_t room_free(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 ? (uint64_t)fs.f_bavail * (uint64_t)fs.f_bsize : 0;
}

static bool in_memory(const char *path)
{
	struct statfs fs;

	/* A ramfs has no limit and reports no free space: it is not a candidate. */
	return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

/* The path of a socket is limited to sizeof(sun_path). */
static bool is_short(const char *path, const char *prefix)
{
	return strlen(path) + 1 + strlen(prefix) + 6 + FILE_NAME_MOST <
	       sizeof(((struct sockaddr_un *)0)->sun_path);
}

static bool room_is_better(const struct room *a, const struct room *b)
{
	if (a->preferred != b->preferred)
		return a->preferred;
	return !a->preferred && a->room > b->room;
}

/* Best first; stable for equal ones. */
static size_t list_rooms(struct room rooms[ROOM_PLACES], const char *const *places,
			 size_t nr_places, const char *prefix, uint64_t least, uint64_t wanted)
{
	size_t i, at, nr = 0;

	for (i = 0; i < nr_places && i < ROOM_PLACES; i++) {
		uint64_t free_bytes = places[i] ? room_free(places[i]) : 0;
		struct room one = {
			.path = places[i],
			.room = free_bytes < wanted ? free_bytes : wanted,
			.preferred = free_bytes >= wanted && places[i] && in_memory(places[i]),
		};

		if (!free_bytes || free_bytes < least || !is_short(places[i], prefix))
			continue;
		for (at = nr; at > 0 && room_is_better(&one, &rooms[at - 1]); at--)
			rooms[at] = rooms[at - 1];
		rooms[at] = one;
		nr++;
	}
	return nr;
}

/* True if the file system can reserve space in advance.  Without that, a full disk means SIGBUS. */
static bool can_reserve(const char *dir)
{
	char *path = NULL;
	bool can = false;
	int fd;

	if (asprintf(&path, "%s/probe", dir) < 0)
		return false;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0) {
		can = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, PROBE_SIZE) == 0;
		close(fd);
		unlink(path);
	}
	free(path);
	return can;
}

static char *make_in(const char *place, const char *prefix)
{
	char *dir = NULL;

	if (asprintf(&dir, "%s/%sXXXXXX", place, prefix) < 0)
		return NULL;
	if (mkdtemp(dir)) {
		if (can_reserve(dir))
			return dir;
		rmdir(dir);
	}
	free(dir);
	return NULL;
}

char *room_make_dir_among(const char *const *places, size_t nr_places, const char *prefix,
			  uint64_t least, uint64_t wanted, struct err *err)
{
	struct room rooms[ROOM_PLACES];
	size_t i, nr = list_rooms(rooms, places, nr_places, prefix, least, wanted);
	char *dir;

	for (i = 0; i < nr; i++) {
		dir = make_in(rooms[i].path, prefix);
		if (dir)
			return dir;
	}
	err_set(err, -ENOSPC,
		"no room for %llu MiB of shared memory in /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, "
		"/tmp or /var/tmp",
		(unsigned long long)(least >> 20) + 1);
	return NULL;
}

char *room_make_dir(const char *prefix, uint64_t least, uint64_t wanted, struct err *err)
{
	const char *places[ROOM_PLACES];

	room_places(places);
	return room_make_dir_among(places, ROOM_PLACES, prefix, least, wanted, err);
}

uint64_t room_free_in_memory(void)
{
	const char *places[ROOM_PLACES];
	uint64_t most = 0;
	size_t i;

	room_places(places);
	for (i = 0; i < ROOM_PLACES; i++) {
		uint64_t room = places[i] && in_memory(places[i]) ? room_free(places[i]) : 0;

		most = room > most ? room : most;
	}
	return most;
}

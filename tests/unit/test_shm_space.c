/* SPDX-License-Identifier: MIT */
/* test_shm_space.c - the directory of shared memory is one with room, on tmpfs if possible. */
#include "process/shm_space.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

static struct err err;

static bool is_tmpfs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && fs.f_type == TMPFS_MAGIC;
}

static void places_are_absolute_and_listed_once(void)
{
	const char *places[ROOM_PLACES];

	setenv("XDG_RUNTIME_DIR", "/run/user/7", 1);
	setenv("TMPDIR", "/scratch", 1);
	room_places(places);
	CHECK_STR(places[0], "/dev/shm");
	CHECK_STR(places[1], "/run/user/7");
	CHECK_STR(places[2], "/scratch");
	CHECK_STR(places[3], "/tmp");
	CHECK_STR(places[4], "/var/tmp");
	setenv("XDG_RUNTIME_DIR", "run", 1); /* not absolute */
	setenv("TMPDIR", "/tmp", 1);         /* comes first; the other one is the same */
	room_places(places);
	CHECK(!places[1]);
	CHECK_STR(places[2], "/tmp");
	CHECK(!places[3]);
	CHECK_STR(places[4], "/var/tmp");
	unsetenv("XDG_RUNTIME_DIR");
	unsetenv("TMPDIR");
	room_places(places);
	CHECK(!places[1] && !places[2]);
	CHECK_STR(places[3], "/tmp");
}

/* The place that is chosen; NULL: none. */
static const char *chosen(const char *const *places, size_t nr, uint64_t least, uint64_t wanted)
{
	static char parent[256];
	struct stat st;
	char *dir;

	err = (struct err){ 0 };
	dir = room_make_dir_among(places, nr, "room-", least, wanted, &err);
	if (!dir)
		return NULL;
	CHECK_EQ(stat(dir, &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0700);
	CHECK_EQ(rmdir(dir), 0); /* nothing is left in it */
	snprintf(parent, sizeof(parent), "%s", dir);
	free(dir);
	*strrchr(parent, '/') = '\0';
	return parent;
}

static void a_tmpfs_with_room_is_preferred(void)
{
	const char *const places[] = { "/var/tmp", "/dev/shm" };

	if (!is_tmpfs("/dev/shm") || is_tmpfs("/var/tmp") || room_free("/dev/shm") < 1 << 20)
		return;
	CHECK_STR(chosen(places, 2, 1, 65536), "/dev/shm");
	CHECK_STR(chosen(places, 1, 1, 65536), "/var/tmp");
	CHECK(room_free_in_memory() >= room_free("/dev/shm") / 2);
}

static void without_the_wanted_room_the_largest_is_chosen(void)
{
	const char *const places[] = { "/dev/shm", "/var/tmp" };
	uint64_t one = room_free("/dev/shm"), other = room_free("/var/tmp");
	const char *larger = one > other ? "/dev/shm" : "/var/tmp";

	if (!is_tmpfs("/dev/shm") || one / 2 == other / 2)
		return;
	CHECK_STR(chosen(places, 2, 1, UINT64_MAX), larger);
	/* What is wanted fits into the file system that is not in memory only. */
	if (other > one + (64 << 20))
		CHECK_STR(chosen(places, 2, 1, other - (32 << 20)), "/var/tmp");
}

static void equal_places_keep_their_order(void)
{
	char first[32] = "/var/tmp/room-a-XXXXXX", second[32] = "/var/tmp/room-b-XXXXXX";
	const char *const places[] = { NULL, first, second };

	CHECK(mkdtemp(first) && mkdtemp(second));
	CHECK_STR(chosen(places, 3, 1, 65536), first);
	CHECK_STR(chosen(places + 2, 1, 1, 65536), second);
	rmdir(first);
	/* A place that is missing is passed over. */
	CHECK_STR(chosen(places, 3, 1, 65536), second);
	rmdir(second);
}

static void too_little_room_is_an_error(void)
{
	const char *const places[] = { "/var/tmp", "/dev/shm" };

	CHECK(chosen(places, 2, UINT64_MAX, UINT64_MAX) == NULL);
	CHECK_EQ(err.code, -ENOSPC);
	CHECK(strstr(err.text, "no room for 17592186044416 MiB of shared memory in /dev/shm"));
	CHECK(chosen(places, 0, 1, 1) == NULL);
	CHECK(strstr(err.text, "no room for 1 MiB") != NULL);
	CHECK_EQ(room_free("/no/such/folder"), 0);
}

/* A socket in the directory has a name of at most 16 bytes, its path at most 107. */
static void paths_of_sockets_fit(void)
{
	size_t most = sizeof(((struct sockaddr_un *)0)->sun_path) - 1 - 16 - 6 - 1 -
		      strlen("room-");
	char place[128];
	const char *const places[] = { place };

	CHECK_EQ(most, 79);
	snprintf(place, sizeof(place), "/var/tmp/room-%s", "long-XXXXXX");
	while (strlen(place) < most)
		memmove(place + 15, place + 14, strlen(place + 14) + 1);
	CHECK(mkdtemp(place) != NULL);
	CHECK_STR(chosen(places, 1, 1, 65536), place);
	rmdir(place);
	memmove(place + 15, place + 14, strlen(place + 14) + 1);
	CHECK_EQ(mkdir(place, 0700), 0);
	CHECK(chosen(places, 1, 1, 65536) == NULL);
	rmdir(place);
}

int main(void)
{
	RUN(places_are_absolute_and_listed_once);
	RUN(a_tmpfs_with_room_is_preferred);
	RUN(without_the_wanted_room_the_largest_is_chosen);
	RUN(equal_places_keep_their_order);
	RUN(too_little_room_is_an_error);
	RUN(paths_of_sockets_fit);
	return 0;
}

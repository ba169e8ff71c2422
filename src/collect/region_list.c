/* SPDX-License-Identifier: MIT */
/* region_list.c - list the regions of this user: of running collectors, and left behind. */
#include "collect/region_list.h"

#include <corotracer/ctp.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "collect/control_socket.h"
#include "collect/journal.h"
#include "collect/region.h"
#include "process/shm_space.h"

bool region_is_live(int fd)
{
	return io_is_locked(fd);
}

/* ---- find ------------------------------------------------------------------- */

static uint32_t collector_of(int fd)
{
	struct ctp_ext_header ext;

	if (io_pread(fd, &ext, sizeof(ext), CTP_EXT_HEADER_OFFSET) != sizeof(ext) ||
	    ext.magic != CTP_EXT_MAGIC)
		return 0;
	return ext.collector_pid;
}

/* 1 or 0; a negative errno if it cannot be read. */
static int is_region(int fd, struct stat *st)
{
	uint64_t magic;
	ssize_t got;

	if (fstat(fd, st) != 0 || !S_ISREG(st->st_mode) || st->st_uid != geteuid())
		return 0;
	got = io_pread(fd, &magic, sizeof(magic), 0);
	if (got < 0)
		return -errno;
	return got == sizeof(magic) && magic == CTP_MAGIC;
}

static int region_list_add(struct found *found, const char *path, int fd, const struct stat *st)
{
	struct found_region *at = reallocarray(found->at, found->nr + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	found->at = at;
	at = &found->at[found->nr];
	*at = (struct found_region){
		.path = strdup(path),
		.live = region_is_live(fd),
		.collector_pid = collector_of(fd),
		.bytes = (uint64_t)st->st_blocks * 512,
		.made = st->st_ctime,
	};
	if (!at->path)
		return -ENOMEM;
	found->nr++;
	return 0;
}

/* What cannot be opened belongs to another user, unless memory or descriptors are short. */
static int region_list_shortage(void)
{
	return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
}

/* Add the region in directory @place/@name if the directory belongs to this user. */
static int region_list_look_into(struct found *found, const char *place, const char *name)
{
	struct stat st;
	char *dir, *path;
	int fd = -1, rc = 0;

	if (asprintf(&dir, "%s/%s", place, name) < 0)
		return -ENOMEM;
	if (asprintf(&path, "%s/" REGION_FILE, dir) < 0) {
		free(dir);
		return -ENOMEM;
	}
	/* A directory of another user may contain anything. */
	if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid()) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		rc = fd < 0 ? region_list_shortage() : 0;
	}
	if (fd >= 0)
		rc = is_region(fd, &st);
	if (rc > 0) {
		rc = region_list_add(found, path, fd, &st);
		/* The mtime of the directory is the time when the collector created its files. */
		if (rc == 0 && lstat(dir, &st) == 0)
			found->at[found->nr - 1].made = st.st_mtime;
	}
	if (fd >= 0)
		close(fd);
	free(dir);
	free(path);
	return rc;
}

/* A region that was named with --shm, in one of the places of the others. */
static int region_list_look_at(struct found *found, const char *place, const char *name)
{
	struct stat st;
	char *path;
	int fd = -1, rc = 0;

	if (asprintf(&path, "%s/%s", place, name) < 0)
		return -ENOMEM;
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid()) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		rc = fd < 0 ? region_list_shortage() : 0;
	}
	/* A file that cannot be read is none: the place has files of other programs too. */
	if (fd >= 0 && is_region(fd, &st) > 0)
		rc = region_list_add(found, path, fd, &st);
	if (fd >= 0)
		close(fd);
	free(path);
	return rc;
}

static int look_in(struct found *found, const char *place)
{
	DIR *d = opendir(place);
	struct dirent *e;
	int rc = d ? 0 : region_list_shortage();

	while (d && rc == 0 && (e = readdir(d))) {
		if (!strncmp(e->d_name, REGION_DIR_PREFIX, strlen(REGION_DIR_PREFIX)))
			rc = region_list_look_into(found, place, e->d_name);
		else
			rc = region_list_look_at(found, place, e->d_name);
	}
	if (d)
		closedir(d);
	return rc;
}

static int by_age(const void *a, const void *b)
{
	const struct found_region *x = a, *y = b;

	return x->made < y->made ? -1 : x->made > y->made;
}

int find_regions(struct found *found, struct err *err)
{
	const char *places[ROOM_PLACES];
	size_t i;
	int rc;

	memset(found, 0, sizeof(*found));
	room_places(places);
	for (i = 0; i < ROOM_PLACES; i++) {
		rc = places[i] ? look_in(found, places[i]) : 0;
		if (rc < 0) {
			found_release(found);
			return err_set(err, rc, "cannot search for regions in '%s': %s", places[i],
				       strerror(-rc));
		}
	}
	if (found->nr)
		qsort(found->at, found->nr, sizeof(*found->at), by_age);
	return 0;
}

void found_release(struct found *found)
{
	size_t i;

	for (i = 0; i < found->nr; i++)
		free(found->at[i].path);
	free(found->at);
	memset(found, 0, sizeof(*found));
}

/* ---- remove ------------------------------------------------------------------ */

/*
 * The length of the path of a region's directory, if its name shows that a collector created it;
 * 0: it is another one.
 */
static int own_dir(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash;

	if (!slash || strcmp(slash + 1, REGION_FILE) != 0)
		return 0;
	while (name > path && name[-1] != '/')
		name--;
	return strncmp(name, REGION_DIR_PREFIX, strlen(REGION_DIR_PREFIX)) ? 0
									   : (int)(slash - path);
}

static int refuse_live(const char *path, struct err *err)
{
	err_set(err, -EBUSY, "a collector has the region '%s'", path);
	err_hint(err, "end the collector: it removes its region itself");
	return err->code;
}

/* All names are made first: without the region itself, what is left of it is not found again. */
struct region_names {
	char *control, *journal, *dir, *wake;
};

static int region_names_make(struct region_names *n, const char *path, struct err *err)
{
	int size = own_dir(path);

	*n = (struct region_names){ .control = control_path(path), .journal = journal_path(path) };
	if (size && asprintf(&n->dir, "%.*s", size, path) < 0)
		n->dir = NULL;
	if (!size)
		n->wake = region_socket_beside(path);
	else if (asprintf(&n->wake, "%.*s/" REGION_SOCKET, size, path) < 0)
		n->wake = NULL;
	if (n->control && n->journal && n->wake && (!size || n->dir))
		return 0;
	return err_set(err, -ENOMEM, "no memory to remove '%s'", path);
}

static void region_names_release(struct region_names *n)
{
	free(n->control);
	free(n->journal);
	free(n->dir);
	free(n->wake);
}

static int region_unlink_dead(const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;

	if (fd < 0)
		return err_errno(err, "cannot open the region '%s'", path);
	if (region_is_live(fd))
		rc = refuse_live(path, err);
	else if (unlink(path) < 0)
		rc = err_errno(err, "cannot remove '%s'", path);
	close(fd);
	return rc;
}

int region_remove(const char *path, struct err *err)
{
	struct region_names names;
	int rc = region_names_make(&names, path, err);

	if (!rc)
		rc = region_unlink_dead(path, err);
	if (!rc) {
		unlink(names.control);
		unlink(names.journal);
		unlink(names.wake);
	}
	if (!rc && names.dir && rmdir(names.dir) < 0)
		rc = err_errno(err, "cannot remove '%s'", names.dir);
	region_names_release(&names);
	return rc;
}

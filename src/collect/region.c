/* SPDX-License-Identifier: MIT */
/* region.c - create, reserve, map and remove the region and its directory. */
#include "collect/region.h"

#include <corotracer/atomic.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "collect/control_socket.h"
#include "process/map_guard.h"
#include "process/shm_space.h"
#include "collect/timebase.h"

/* ---- paths ------------------------------------------------------------------ */

static char *path_in(const char *dir, const char *name)
{
	char *out = NULL;

	return asprintf(&out, "%s/%s", dir, name) < 0 ? NULL : out;
}

/* The program may run in another directory: relative to the collector's. */
static char *region_absolute(const char *path)
{
	char *cwd, *out = NULL;

	if (path[0] == '/')
		return strdup(path);
	cwd = getcwd(NULL, 0);
	if (cwd)
		out = path_in(cwd, path);
	free(cwd);
	return out;
}

/*
 * The same as room_make_dir(), in the mount namespace of another process.  dir is a path through a
 * descriptor; *@seen is the path of that process.
 */
static char *make_dir_there(struct region *r, const struct file_owner *owner, uint64_t buffer,
			    char **seen, struct err *err)
{
	static const char *const theirs[] = { "/dev/shm", "/run", "/tmp", "/var/tmp" };
	char ours[4][32], *dir = NULL;
	const char *places[4];
	int fds[4], i;

	for (i = 0; i < 4; i++) {
		fds[i] = file_owner_open_dir(owner, theirs[i]);
		snprintf(ours[i], sizeof(ours[i]), "/proc/self/fd/%d", fds[i]);
		places[i] = fds[i] >= 0 ? ours[i] : NULL;
	}
	dir = room_make_dir_among(places, 4, REGION_DIR_PREFIX, r->size, r->size + buffer, err);
	for (i = 0; i < 4; i++) {
		size_t len = strlen(ours[i]);

		if (dir && r->place_fd < 0 && !strncmp(dir, ours[i], len) && dir[len] == '/') {
			r->place_fd = fds[i];
			*seen = path_in(theirs[i], dir + len + 1);
		} else if (fds[i] >= 0) {
			close(fds[i]);
		}
	}
	return dir;
}

/* Set dir, and *@seen to the same directory as the program sees it. */
static int make_dir(struct region *r, const struct file_owner *owner, uint64_t buffer, char **seen,
		    struct err *err)
{
	if (owner && owner->own_root) {
		r->dir = make_dir_there(r, owner, buffer, seen, err);
	} else {
		r->dir = room_make_dir(REGION_DIR_PREFIX, r->size, r->size + buffer, err);
		*seen = r->dir ? strdup(r->dir) : NULL;
	}
	if (r->dir && !*seen)
		return err_set(err, -ENOMEM, "no memory for a path");
	return r->dir ? 0 : err->code;
}

static int no_path(struct err *err)
{
	err_set(err, -ENOMEM, "no memory for a path");
	return -ENOMEM;
}

/* A longer path cannot be that of a socket. */
static bool fits_socket(const char *path)
{
	return strlen(path) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

char *region_socket_beside(const char *region)
{
	char *path = NULL;

	return asprintf(&path, "%s." REGION_SOCKET, region) < 0 ? NULL : path;
}

/* Set sock, for a region that the user named: beside it, where it is found and removed with it. */
static int choose_socket(struct region *r, struct err *err)
{
	r->sock = region_socket_beside(r->shm);
	if (!r->sock)
		return no_path(err);
	r->is_sock_beside = fits_socket(r->sock);
	if (!r->is_sock_beside) { /* in a private directory, then */
		free(r->sock);
		r->sock = NULL;
	}
	return 0;
}

static int refuse_long_socket(const char *path, struct err *err)
{
	err_set(err, -ENAMETOOLONG, "the socket's path is %zu bytes long, %zu are allowed: '%s'",
		strlen(path), sizeof(((struct sockaddr_un *)0)->sun_path) - 1, path);
	err_hint(err, "choose a shorter path with --sock");
	return -ENAMETOOLONG;
}

/* Set dir, shm and sock. */
static int choose_paths(struct region *r, uint64_t buffer, const char *shm, const char *sock,
			const struct file_owner *owner, struct err *err)
{
	char *seen = NULL;
	int rc;

	r->shm = shm ? region_absolute(shm) : NULL;
	r->sock = sock ? region_absolute(sock) : NULL;
	if ((shm && !r->shm) || (sock && !r->sock))
		return no_path(err);
	if (shm && !sock && choose_socket(r, err) < 0)
		return -ENOMEM;
	r->seen_sock = r->sock ? strdup(r->sock) : NULL;
	r->seen_shm = r->shm ? strdup(r->shm) : NULL;
	if (!r->shm || !r->sock) {
		rc = make_dir(r, owner, buffer, &seen, err);
		if (rc < 0 || !r->dir || !seen) {
			free(seen);
			err_hint(err, "ask for fewer stations with -n, name a place with --shm, or "
				      "set TMPDIR to a directory with room");
			return rc < 0 ? rc : -ENOMEM;
		}
	}
	if (!shm) {
		r->shm = path_in(r->dir, REGION_FILE);
		r->seen_shm = path_in(seen, REGION_FILE);
	}
	if (!r->sock) {
		r->sock = path_in(r->dir, REGION_SOCKET);
		r->seen_sock = path_in(seen, REGION_SOCKET);
	}
	free(seen);
	if (!r->shm || !r->sock || !r->seen_shm || !r->seen_sock)
		return no_path(err);
	return fits_socket(r->sock) ? 0 : refuse_long_socket(r->sock, err);
}

/* Explain why the path cannot be used. */
static int explain_taken(const char *path, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return err_errno(err, "cannot create '%s'", path);
	if (S_ISLNK(st.st_mode)) {
		err_set(err, -EEXIST, "'%s' is a symbolic link; a region is never made through one",
			path);
		err_hint(err, "choose another path, or none: the default is private");
	} else if (st.st_uid != geteuid()) {
		err_set(err, -EEXIST, "'%s' exists and belongs to user %u", path, st.st_uid);
		err_hint(err, "choose another path, or none: the default is private");
	} else {
		err_set(err, -EEXIST, "'%s' exists: another collector may be using it", path);
		err_hint(err, "if nothing uses it any more, remove it; or choose another path");
	}
	return err->code;
}

/* ---- the file ---------------------------------------------------------------- */

static int region_reserve(struct region *r, struct err *err)
{
	int rc = posix_fallocate(r->fd, 0, (off_t)r->size);

	if (rc == 0)
		return 0;
	errno = rc;
	err_errno(err, "cannot reserve %llu MiB for %u stations in '%s'",
		  (unsigned long long)(r->size >> 20) + 1, r->nr_stations, r->shm);
	err_hint(err, "ask for fewer stations with -n, or name a larger place with --shm");
	return err->code;
}

/* Take the lock.  A process that lists regions may hold it for a moment (region_is_live()). */
static void region_hold(int fd)
{
	struct timespec moment = { 0, 1000000 };
	int tries = 100;

	while (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK && --tries)
		nanosleep(&moment, NULL);
}

static int create_file(struct region *r, struct err *err)
{
	r->fd = open(r->shm, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (r->fd < 0 && (errno == EEXIST || errno == ELOOP))
		return explain_taken(r->shm, err);
	if (r->fd < 0) {
		err_errno(err, "cannot create region '%s'", r->shm);
		err_hint(err, "name an existing directory of yours, or omit the option: the "
			      "default is private");
		return err->code;
	}
	/* Held while the collector runs: distinguishes a region in use from one left behind. */
	region_hold(r->fd);
	if (r->is_sock_beside)
		control_remove_stale(r->sock);
	return region_reserve(r, err);
}

static int map_file(struct region *r, struct err *err)
{
	void *first;

	r->map = mmap(NULL, r->size, PROT_READ, MAP_SHARED, r->fd, 0);
	if (r->map == MAP_FAILED) {
		r->map = NULL;
		return err_errno(err, "cannot map region '%s'", r->shm);
	}
	first = mmap(NULL, sizeof(struct ctp_header), PROT_READ | PROT_WRITE, MAP_SHARED, r->fd, 0);
	if (first == MAP_FAILED)
		return err_errno(err, "cannot map region '%s'", r->shm);
	r->header = first;
	r->stations = ctp_stations(r->map);
	return 0;
}

/* True if membarrier() can execute a barrier on every running thread of registered processes. */
static bool membarrier_works(void)
{
	/* (ctp-C) pairs with ctp_wake_if_asleep(): only queried here, executed in sleep_announce().
	 */
	long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	return commands > 0 && (commands & MEMBARRIER_CMD_GLOBAL_EXPEDITED) &&
	       !getenv("COROTRACER_NO_MEMBARRIER");
}

static void fill_header(struct region *r)
{
	struct ctp_ext_header *ext = ctp_header_ext(r->header);

	r->header->version = CTP_VERSION;
	r->header->max_stations = r->nr_stations;
	r->header->magic_number = CTP_MAGIC;
	r->has_membarrier = membarrier_works();
	ext->version = CTP_EXT_VERSION;
	ext->features = CTP_EXT_SLEEPING | (r->has_membarrier ? CTP_EXT_MEMBARRIER : 0) |
			(timebase_usable() ? CTP_EXT_CLOCK : 0);
	ext->collector_pid = (uint32_t)getpid();
	/* (ctp-E) pairs with the acquire load in ctp_ext_features(). */
	ctp_store_release(&ext->magic, CTP_EXT_MAGIC);
}

int region_create(struct region *r, uint32_t nr_stations, uint64_t buffer, const char *shm,
		  const char *sock, const struct file_owner *owner, struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->fd = r->place_fd = -1;
	r->nr_stations = nr_stations;
	r->size = ctp_region_size(nr_stations);
	if (choose_paths(r, buffer, shm, sock, owner, err) < 0 || create_file(r, err) < 0 ||
	    map_file(r, err) < 0) {
		region_close(r);
		return err->code;
	}
	fill_header(r);
	map_guard_add(r->map, r->size, PROT_READ);
	map_guard_add(r->header, sizeof(*r->header), PROT_READ | PROT_WRITE);
	return 0;
}

void region_unlink(struct region *r)
{
	if (r->fd >= 0 && !r->unlinked)
		unlink(r->shm); /* O_EXCL: this process created it */
	r->unlinked = true;
}

void region_close(struct region *r)
{
	map_guard_remove(r->header);
	map_guard_remove(r->map);
	if (r->header)
		munmap(r->header, sizeof(struct ctp_header));
	if (r->map)
		munmap(r->map, r->size);
	region_unlink(r);
	if (r->fd >= 0)
		close(r->fd);
	if (r->dir)
		rmdir(r->dir);
	if (r->place_fd > 0)
		close(r->place_fd);
	free(r->seen_shm);
	free(r->seen_sock);
	free(r->dir);
	free(r->shm);
	free(r->sock);
	memset(r, 0, sizeof(*r));
	r->fd = r->place_fd = -1;
}

/* SPDX-License-Identifier: MIT */
/* run_leftovers.c - ship the spools that earlier runs left in the directory of spools. */
#include "run_leftovers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cmd.h"

#define LEFTOVERS_MAX      1024
#define LEFTOVERS_WAIT_NS  (10 * NS_PER_SEC) /* for a receiver that is away, per spool */
#define LEFTOVERS_EVERY_MS 60000

struct leftover_spool {
	char path[PATH_MAX];
	uint64_t bytes; /* on the disk */
	struct timespec changed;
};

struct leftover_spools {
	struct leftover_spool list[LEFTOVERS_MAX];
	size_t nr;
};

/* Oldest first. */
static int leftovers_compare(const void *a, const void *b)
{
	const struct timespec *x = &((const struct leftover_spool *)a)->changed;
	const struct timespec *y = &((const struct leftover_spool *)b)->changed;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool leftovers_is_spool(const char *name)
{
	size_t size = strlen(name);

	return size > 3 && !strcmp(name + size - 3, ".ct");
}

/* The lock says that no collector writes it and no other process ships it; -1: one does. */
static int leftovers_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void leftovers_find(struct leftover_spools *all, const char *folder, const char *own)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;

	all->nr = 0;
	while (dir && all->nr < LEFTOVERS_MAX && (entry = readdir(dir)) != NULL) {
		struct leftover_spool *l = &all->list[all->nr];

		if (!leftovers_is_spool(entry->d_name) ||
		    (size_t)snprintf(l->path, sizeof(l->path), "%s/%s", folder, entry->d_name) >=
			    sizeof(l->path) ||
		    !strcmp(l->path, own) || lstat(l->path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		l->bytes = (uint64_t)st.st_blocks * 512;
		l->changed = st.st_mtim;
		all->nr++;
	}
	if (dir)
		closedir(dir);
	qsort(all->list, all->nr, sizeof(all->list[0]), leftovers_compare);
}

/* @size 1: give up its events, and send the rest of it.  False: stop. */
static bool leftovers_ship(const struct shipping *s, const char *path, uint64_t size,
			   uint64_t wait_ns, bool (*pause)(int ms))
{
	struct shipper_config config = {
		.trace = path,
		.transport = s->transport,
		.spool_size = size,
		.has_ended = true,
		.wait_ns = wait_ns,
		.waits_while_blocks_arrive = true,
		.pause = pause,
	};
	struct shipper_result r;
	struct err err = { 0 };
	int fd = leftovers_lock(path);

	if (fd < 0)
		return !pause(0);
	if (shipper_run(&config, &r, &err) == 0 && r.is_finished) {
		char *state = ship_state_path(path);

		unlink(path);
		if (state)
			unlink(state);
		free(state);
		message_print("ship", "shipped the spool '%s' of an earlier run", path);
	}
	close(fd);
	return !pause(0);
}

/* One pass.  False: stop. */
static bool leftovers_pass(const struct shipping *s, struct leftover_spools *all,
			   const char *folder, bool (*pause)(int ms))
{
	uint64_t bytes = 0;
	size_t i;

	leftovers_find(all, folder, s->spool);
	for (i = 0; i < all->nr; i++)
		bytes += all->list[i].bytes;
	for (i = 0; i < all->nr && bytes > s->options.spool_size; i++) {
		if (!leftovers_ship(s, all->list[i].path, 1, 0, pause))
			return false;
		bytes -= all->list[i].bytes;
	}
	for (i = 0; i < all->nr; i++) {
		if (!leftovers_ship(s, all->list[i].path, s->options.spool_size, LEFTOVERS_WAIT_NS,
				    pause))
			return false;
	}
	return true;
}

void leftovers_start(const struct shipping *s, bool (*pause)(int ms))
{
	struct leftover_spools *all;
	char folder[PATH_MAX], *slash;
	pid_t parent = getpid();

	if (!s->is_spool || fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	all = malloc(sizeof(*all));
	snprintf(folder, sizeof(folder), "%s", s->spool);
	slash = strrchr(folder, '/');
	if (getppid() != parent || !all || !slash)
		_exit(EXIT_OK);
	*slash = 0;
	while (leftovers_pass(s, all, folder, pause) && !pause(LEFTOVERS_EVERY_MS))
		;
	ship_transport_close(s->transport);
	_exit(EXIT_OK);
}

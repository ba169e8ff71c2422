/* SPDX-License-Identifier: MIT */
/*
 * shared_region.c - the shared memory of `mem run`: a file in a private directory, removed at the
 * end.
 *
 * The file is sparse: it has a ring for every possible thread, and memory only for rings in use.
 */
#include "memory/collect/shared_region.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "process/map_guard.h"
#include "memory/collect/left_region.h"
#include "process/shm_space.h"

#define SLOTS_LEAST 64u

static int shm_map(struct shm *m, const struct crw_geometry *g, struct err *err)
{
	const char *wrong;

	m->fd = open(m->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (m->fd < 0)
		return err_errno(err, "cannot make '%s'", m->path);
	if (!m->size)
		return err_set(err, -EINVAL, "no region has such a size");
	if (ftruncate(m->fd, (off_t)m->size) < 0)
		return err_errno(err, "cannot size '%s'", m->path);
	m->map = mmap(NULL, m->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, m->fd, 0);
	if (m->map == MAP_FAILED) {
		m->map = NULL;
		return err_errno(err, "cannot map '%s'", m->path);
	}
	/* Survive truncation of the file: map zeros on SIGBUS. */
	map_guard_add(m->map, m->size, PROT_READ | PROT_WRITE);
	crw_region_init(m->map, g);
	wrong = crw_region_open(m->map, m->size, &m->region);
	return wrong ? err_set(err, -EPROTO, "'%s': %s", m->path, wrong) : 0;
}

/*
 * Fewer slots, if that makes the file fit into memory.  On a disk, the kernel writes each page of
 * the rings again and again, and the program waits for it.
 */
static void shm_fit_memory(struct crw_geometry *g)
{
	struct crw_geometry smaller = *g;
	uint64_t room = room_free_in_memory();

	while (crw_region_size(&smaller) > room && smaller.nr_slots > SLOTS_LEAST)
		smaller.nr_slots /= 2;
	if (crw_region_size(&smaller) <= room)
		*g = smaller;
}

/*
 * The program cannot handle a full file system when it writes: all of the file must fit.  Where it
 * does not, there are fewer slots.
 */
static bool shm_make_dir(struct shm *m, struct crw_geometry *g, struct err *err)
{
	shm_fit_memory(g);
	for (;;) {
		m->size = crw_region_size(g);
		m->dir = room_make_dir(LEFT_REGION_PREFIX, m->size, m->size, err);
		if (m->dir || g->nr_slots <= SLOTS_LEAST)
			return m->dir;
		g->nr_slots /= 2;
		memset(err, 0, sizeof(*err));
	}
}

int shm_create(struct shm *m, const struct crw_geometry *wanted, struct err *err)
{
	struct crw_geometry geometry = *wanted, *g = &geometry;

	memset(m, 0, sizeof(*m));
	m->fd = -1;
	if (!shm_make_dir(m, g, err)) {
		err_hint(err, "ask for less with --buffer, or set TMPDIR to a directory with room");
		return err->code;
	}
	if (asprintf(&m->path, "%s/region", m->dir) < 0) {
		m->path = NULL;
		err_set(err, -ENOMEM, "no memory for a file name");
	} else if (shm_map(m, g, err) == 0) {
		return 0;
	}
	shm_close(m);
	return err->code;
}

void shm_close(struct shm *m)
{
	if (m->map) {
		map_guard_remove(m->map);
		munmap(m->map, m->size);
	}
	if (m->fd >= 0)
		close(m->fd);
	if (m->path)
		unlink(m->path);
	if (m->dir) {
		left_region_forget(m->dir);
		rmdir(m->dir);
	}
	free(m->path);
	free(m->dir);
	memset(m, 0, sizeof(*m));
	m->fd = -1;
}

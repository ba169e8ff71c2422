/* SPDX-License-Identifier: MIT */
/*
 * region_control.c - send a request to a running traced program, through its region.
 *
 * The region is a file that the program has mapped: /proc/PID/maps names it, whether a collector or
 * the program itself created it.  A lock on the file makes other senders wait.
 */
#include "memory/collect/region_control.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/map_guard.h"
#include "ring_read.h"
#include "sys.h"

#define PATIENCE_NS (5000 * NS_PER_MS)
#define LOOK_MS     100u

struct controlled_region {
	int fd;
	void *map;
	uint64_t size;
	struct crw_region region;
};

static void region_control_close(struct controlled_region *c)
{
	if (c->map) {
		map_guard_remove(c->map);
		munmap(c->map, c->size);
	}
	if (c->fd >= 0)
		close(c->fd);
	*c = (struct controlled_region){ .fd = -1 };
}

/* True if the file at @path is a region. */
static bool region_control_open_file(struct controlled_region *c, const char *path)
{
	struct stat st;

	c->fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (c->fd >= 0 && fstat(c->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_size >= (off_t)sizeof(struct crw_header)) {
		c->size = (uint64_t)st.st_size;
		c->map = mmap(NULL, c->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
			      c->fd, 0);
		if (c->map == MAP_FAILED)
			c->map = NULL;
	}
	if (c->map)
		map_guard_add(c->map, c->size, PROT_READ | PROT_WRITE);
	if (c->map && !crw_region_open(c->map, c->size, &c->region))
		return true;
	region_control_close(c);
	return false;
}

/* The path of a mapping that is shared and writable, in a line of /proc/PID/maps; NULL: none. */
static char *region_control_shared_path(char *line)
{
	char *path = strchr(line, '/'), *end = strchr(line, '\n');

	if (end)
		*end = '\0';
	return path && strstr(line, " rw-s ") && strstr(line, " rw-s ") < path ? path : NULL;
}

static int region_control_open(struct controlled_region *c, uint32_t pid, struct err *err)
{
	char maps[64], line[PATH_MAX + 256], path[PATH_MAX + 64], *at;
	bool found = false;
	FILE *f;

	*c = (struct controlled_region){ .fd = -1 };
	snprintf(maps, sizeof(maps), "/proc/%u/maps", pid);
	f = fopen(maps, "re");
	if (!f && errno == ENOENT) {
		err_set(err, -ESRCH, "there is no process %u", pid);
		err_hint(err, "'pidof PROGRAM' prints its number");
		return err->code;
	}
	if (!f)
		return err_errno(err, "cannot read '%s'", maps);
	while (!found && fgets(line, sizeof(line), f)) {
		at = region_control_shared_path(line);
		if (!at)
			continue;
		snprintf(path, sizeof(path), "/proc/%u/root%s", pid, at);
		found = region_control_open_file(c, path);
	}
	fclose(f);
	if (found)
		return 0;
	err_set(err, -ESRCH, "process %u has no region for memory traces", pid);
	err_hint(err, "build it with 'corotracer mem cc', and run it with "
		      "CACHERAY_OPTIONS=control=1:start=0");
	return err->code;
}

/* The entry of @pid.  In another pid namespace its number there may differ: then the only one. */
static struct crw_process *region_control_process(const struct crw_region *r, uint32_t pid)
{
	struct crw_process *only = NULL;
	uint32_t i, nr = 0;

	for (i = 0; i < r->nr_processes; i++) {
		struct crw_process *p = &r->processes[i];

		/* (mem-F) pairs with the release of the process that made the entry. */
		if (__atomic_load_n(&p->state, __ATOMIC_ACQUIRE) != CRW_LIVE)
			continue;
		if (__atomic_load_n(&p->pid, __ATOMIC_RELAXED) == pid)
			return p;
		only = p;
		nr++;
	}
	return nr == 1 ? only : NULL;
}

static int region_control_request(struct crw_process *p, uint32_t pid, uint32_t what,
				  const char *text, struct err *err)
{
	uint32_t before = __atomic_load_n(&p->request, __ATOMIC_RELAXED), served;
	uint32_t request = (before / CRW_REQUESTS + 1) * CRW_REQUESTS + what;
	uint64_t start = clock_now_ns();

	strncpy(p->text, text, sizeof(p->text));
	/* (mem-N) pairs with the acquire in control_thread_run(): the text is visible. */
	__atomic_store_n(&p->request, request, __ATOMIC_RELEASE);
	crt_futex_wake(&p->request);
	/* (mem-N) pairs with the release in control_thread_run(): the request is served. */
	while ((served = __atomic_load_n(&p->served, __ATOMIC_ACQUIRE)) != request) {
		if (clock_now_ns() - start > PATIENCE_NS)
			return err_set(err, -ETIMEDOUT, "process %u does not answer", pid);
		crt_futex_wait(&p->served, served, LOOK_MS);
	}
	return 0;
}

int region_control_send(uint32_t pid, uint32_t request, const char *text, struct err *err)
{
	struct controlled_region c;
	struct crw_process *p;
	int rc = region_control_open(&c, pid, err);

	if (rc < 0)
		return rc;
	p = region_control_process(&c.region, pid);
	if (!p || !__atomic_load_n(&p->control, __ATOMIC_RELAXED)) {
		rc = err_set(err, -ENOTSUP, "process %u takes no requests", pid);
		err_hint(err, "start it with CACHERAY_OPTIONS=control=1");
	} else if (flock(c.fd, LOCK_EX) < 0) {
		rc = err_errno(err, "cannot lock the region of process %u", pid);
	} else {
		rc = region_control_request(p, pid, request, text ? text : "", err);
	}
	region_control_close(&c);
	return rc;
}
